package pools

import (
	"context"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// ListRevisions fills the cache with the revisions of a pool. Live reads take revisions from it, so an Observer that does not
// run needs this call.
func (o *Observer) ListRevisions(ctx context.Context, key plan.Key) error {
	list, err := o.options.Client.AppsV1().ControllerRevisions(key.Namespace).List(ctx, ofPool(key))
	if err != nil {
		return fmt.Errorf("list revisions of StatefulCluster %s/%s: %w", key.Namespace, key.Name, err)
	}
	for i := range list.Items {
		if err := o.revisions.GetIndexer().Add(revisionOf(&list.Items[i])); err != nil {
			return fmt.Errorf("keep revision %s/%s: %w", key.Namespace, list.Items[i].Name, err)
		}
	}
	return nil
}
