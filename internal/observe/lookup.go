package observe

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Set is a StatefulSet as a question about one object by name needs it, whether
// it belongs to a group or not.
type Set struct {
	UID         string
	Version     plan.Version
	NoDownscale bool // its label forbids it to shrink
	Held        bool // it shrinks under the hold of Key
	Key         plan.Key
}

// Set returns a StatefulSet from the cache. It makes no request.
func (o *Observer) Set(namespace, name string) (Set, bool) {
	item, exists, err := o.zones.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return Set{}, false
	}
	r, ok := item.(*zoneRecord)
	if !ok {
		return Set{}, false
	}
	return setOf(r), true
}

// LiveSet reads a StatefulSet from the API server.
func (o *Observer) LiveSet(ctx context.Context, namespace, name string) (Set, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	set, err := o.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Set{}, fmt.Errorf("read StatefulSet %s/%s: %w", namespace, name, err)
	}
	return setOf(recordOf(set)), nil
}

func setOf(r *zoneRecord) Set {
	set := Set{UID: r.zone.UID, Version: r.zone.Version, NoDownscale: r.barred, Held: r.held()}
	if set.Held {
		set.Key = r.key()
	}
	return set
}
