package observe

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// adopts reports whether a StatefulSet will adopt an orphan of its name. A terminating orphan is
// never adopted; it counts as down while it exists.
func adopts(z *group.Zone, orphan plan.Pod) bool {
	selector, err := labels.Parse(z.Selector)
	return err != nil || selector.Matches(labels.Set(orphan.Labels.Map()))
}

// has reports whether a pod with a StatefulSet's name counts as one of its pods: the StatefulSet
// controls it, or will adopt it.
func has(z *group.Zone, r *podRecord) bool {
	return r.controller() == z.UID || r.orphaned() && adopts(z, r.pod)
}

// cachedPods returns the pods of a StatefulSet, and the orphans of its name that it does not
// adopt.
func (o *Observer) cachedPods(namespace string, z *group.Zone) (own, orphans []*podRecord) {
	for _, r := range lookup[*podRecord](o.pods, byParent, namespace+"/"+z.Name) {
		switch {
		case has(z, r):
			own = append(own, r)
		case r.orphaned():
			orphans = append(orphans, r)
		}
	}
	return own, orphans
}

// ownOrphans returns the orphans that count as pods of a StatefulSet: those of its name that it adopts. One list may
// answer the selectors of several StatefulSets.
func ownOrphans(z *group.Zone, listed []plan.Pod) []plan.Pod {
	var own []plan.Pod
	for _, p := range listed {
		if parent, _, _ := plan.ParentOf(p.Name); parent == z.Name && adopts(z, p) {
			own = append(own, p)
		}
	}
	return own
}

// liveOrphans reads from the API server the orphans that the caches show, because no selector of
// the group finds them.
func (o *Observer) liveOrphans(ctx context.Context, namespace string, z *group.Zone) ([]plan.Pod, error) {
	_, cached := o.cachedPods(namespace, z)
	pods, errs := make([]*corev1.Pod, len(cached)), make([]error, len(cached))
	parallel.Each(len(cached), readsAtATime, func(i int) {
		pods[i], _, errs[i] = o.readPod(ctx, namespace, cached[i].pod.Name)
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err // one error is enough
	}
	var orphans []plan.Pod
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		if ordinal, is := OrphanOf(pod); is {
			orphans = append(orphans, PodOf(pod, ordinal))
		}
	}
	return slices.DeleteFunc(orphans, func(p plan.Pod) bool { return adopts(z, p) }), nil
}
