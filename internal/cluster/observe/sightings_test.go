package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestObservedTransitionsHaveAFinerTime(t *testing.T) {
	made := func(p *corev1.Pod) { p.CreationTimestamp = noon }
	starting := newPod("zone-a", 0, made, notReady())
	former := newPod("zone-a", 0, func(p *corev1.Pod) { p.UID = "former" })
	deleting := newPod("zone-a", 0, func(p *corev1.Pod) { p.UID = "former" }, terminating)
	restarted := newPod("zone-a", 0, made, func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime.Time = noon.Add(2 * time.Second) })
	ready := newPod("zone-a", 0, made)
	const at = 1100 * time.Millisecond // between two arrivals
	for sentence, tc := range map[string]struct {
		filled         bool // the cache was filled before the first pod arrived
		arrive         []*corev1.Pod
		created, ready time.Duration // of the last pod; 0: not seen
	}{
		"a pod that was there":                 {false, []*corev1.Pod{ready}, 0, 0},
		"it becomes Ready":                     {false, []*corev1.Pod{starting, ready}, 0, 2 * at},
		"it is still Ready":                    {false, []*corev1.Pod{starting, ready, ready, ready}, 0, 2 * at},
		"it was Ready, and is so again":        {false, []*corev1.Pod{ready, starting, restarted}, 0, 3 * at},
		"it is Ready again since another time": {false, []*corev1.Pod{ready, restarted}, 0, 2 * at},
		"it is created":                        {true, []*corev1.Pod{starting}, at, 0},
		"it is created and becomes Ready":      {true, []*corev1.Pod{starting, ready}, at, 2 * at},
		"it replaces another one":              {false, []*corev1.Pod{former, deleting, starting, ready}, 3 * at, 4 * at},
		"it replaced another one unseen":       {false, []*corev1.Pod{former, ready}, 2 * at, 2 * at},
		"a pod that is not Ready any more":     {false, []*corev1.Pod{ready, starting}, 0, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, newLibrary().client(t))
			now := noon.Time
			o.now = func() time.Time { return now }
			if tc.filled {
				o.pods.GetStore().Bookmark("5")
			}
			sighting := func(second time.Time, after time.Duration) plan.Sighting {
				if after == 0 {
					return 0
				}
				return plan.SightingOf(second, noon.Add(after))
			}
			var got *podRecord
			for _, pod := range tc.arrive {
				now = now.Add(at)
				got = as[*podRecord](must(o.keepPod(pod)))
				if err := o.pods.GetStore().Add(must(o.keepPod(got))); err != nil {
					t.Fatal(err)
				}
			}
			if want := (plan.Sightings{Created: sighting(got.pod.Created.Time(), tc.created), Ready: sighting(got.pod.ReadySince, tc.ready)}); got.pod.Seen != want {
				t.Errorf("seen %+v, want %+v", got.pod.Seen, want)
			}
		})
	}
}
