package reference

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// watchDefinitions looks for kinds at once whose CRD comes, changes or goes. It
// begins when anything is wanted.
func (b *Book) watchDefinitions(ctx context.Context) {
	select {
	case <-b.asked:
	case <-ctx.Done():
		return
	}
	informer := b.informer(definitions, "")
	listen(informer, func(r *record) {
		if _, group, ok := strings.Cut(r.name, "."); ok {
			b.again(group)
		}
	})
	informer.RunWithContext(ctx)
}
