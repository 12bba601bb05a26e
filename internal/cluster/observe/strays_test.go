package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// This is kubectl delete statefulset zone-a --cascade=orphan while zone-a-0 has an intent.
// The version of the pod is newer than that of the intent, so the intent is cancelled.
// Otherwise the other zones would wait as long as the orphan exists.
func TestARecordedOrphanIsTheSamePodInTheCache(t *testing.T) {
	orphan := newPod("zone-a", 0, ownedBy(), func(p *corev1.Pod) { version10(p) })
	intent := recordedIntent("zone-a", "zone-a-0")
	cached, live := both(t, store, []runtime.Object{newSet("zone-b"), orphan, newHold("store", "rollout/zone-a", intent)}...)
	if diff := cmp.Diff(live, cached, sight); diff != "" {
		t.Errorf("-live +cached:\n%s", diff)
	}
	if got, want := cached.IntentStatus(intent), live.IntentStatus(intent); got != want {
		t.Errorf("the intent is %s in the cache, and %s live", got, want)
	}
}

// The StatefulSet is deleted before its pods. The group waits for the end of the pod with an
// intent.
func TestTheEndOfARecordedPodEnqueuesTheGroupAfterItsStatefulSetIsDeleted(t *testing.T) {
	o := newObserver(t, unreachable)
	show(o, newSet("zone-b"))
	showHold(o, newHold("store", "rollout/zone-a", recordedIntent("zone-a", "zone-a-0")))
	got := enqueued(func(enqueue func(plan.Key)) {
		o.podEvents(enqueue).OnDelete(must(trimPod(newPod("zone-a", 0, terminating))))
	})
	if diff := cmp.Diff([]string{"store"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
