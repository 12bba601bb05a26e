package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// keepPod converts a pod before the cache stores it, and records when it was first seen.
func (o *Observer) keepPod(object any) (any, error) {
	kept, err := trimPod(object)
	_, arrives := object.(*corev1.Pod)
	if r, ok := kept.(*podRecord); ok && arrives {
		o.sight(r.namespace(), &r.pod)
	}
	return kept, err
}

// sight records when this process saw that a pod was created and became Ready: now, unless the
// cache already shows that. Pods that existed when the cache was filled have no such time.
func (o *Observer) sight(namespace string, pod *plan.Pod) {
	var before plan.Pod
	kept, known := o.keptPod(namespace, pod.Name)
	switch {
	case known:
		before = kept.view()
	case seen(o.pods) == 0:
		return
	}
	same := before.UID == pod.UID
	if pod.Seen.Created = before.Seen.Created; !same {
		pod.Seen.Created = plan.SightingOf(pod.Created.Time(), o.now())
	}
	switch {
	case !pod.Up():
	case same && before.Up() && before.ReadySince.Equal(pod.ReadySince):
		pod.Seen.Ready = before.Seen.Ready
	default:
		pod.Seen.Ready = plan.SightingOf(pod.ReadySince, o.now())
	}
}
