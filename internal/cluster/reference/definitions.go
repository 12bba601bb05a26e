package reference

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
)

// watchDefinitions starts the discovery of kinds whose CRD is created, changed or deleted. It
// starts when the first object is wanted.
func (b *Cache) watchDefinitions(ctx context.Context) {
	select {
	case <-b.asked:
	case <-ctx.Done():
		return
	}
	informer := b.informer(dynamicwatch.Definitions, "", func() {}, func() {})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if !initial {
				b.definition(nil, object)
			}
		},
		UpdateFunc: b.definition,
		DeleteFunc: func(object any) { b.definition(nil, final(object)) },
	})
	must(err)
	informer.RunWithContext(ctx)
}

// definition handles a CRD that has changed.
func (b *Cache) definition(before, after any) {
	is, ok := after.(*record)
	if was, known := before.(*record); !ok || (known && *was == *is) {
		return
	}
	b.redefined(schema.ParseGroupResource(is.name))
}
