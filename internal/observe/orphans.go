package observe

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/parallel"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// adopts reports whether a StatefulSet adopts an orphan of its name, sooner or later.
func adopts(z *plan.Zone, orphan plan.Pod) bool {
	selector, err := labels.Parse(z.Selector)
	return err != nil || selector.Matches(labels.Set(orphan.Labels.Map()))
}

// cachedOrphans returns the orphans of a StatefulSet's name that it does not adopt.
func (o *Observer) cachedOrphans(namespace string, z *plan.Zone) []plan.Pod {
	var orphans []plan.Pod
	for _, p := range inPodOrder(lookup[*podRecord](o.pods, byParent, namespace+"/"+z.Name)) {
		if !adopts(z, p.record.pod) {
			orphans = append(orphans, p.record.pod)
		}
	}
	return orphans
}

// liveOrphans reads those orphans from the API server that the caches show: no selector of the
// group finds them.
func (o *Observer) liveOrphans(ctx context.Context, namespace string, z *plan.Zone) ([]plan.Pod, error) {
	cached := o.cachedOrphans(namespace, z)
	pods, errs := make([]*corev1.Pod, len(cached)), make([]error, len(cached))
	parallel.Each(len(cached), readsAtATime, func(i int) {
		pods[i], _, errs[i] = o.readPod(ctx, namespace, cached[i].Name)
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err // one says enough
	}
	var orphans []plan.Pod
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		if ordinal, is := OrphanOf(pod); is {
			orphans = append(orphans, podOf(pod, ordinal))
		}
	}
	return slices.DeleteFunc(orphans, func(p plan.Pod) bool { return adopts(z, p) }), nil
}
