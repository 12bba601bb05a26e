package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestPlayedWatchesFillTheCaches(t *testing.T) {
	o := newObserver(t, newLibrary().client(t))
	set, pod := newSet("zone-a"), newPod("zone-a", 0)
	for _, object := range []runtime.Object{set, pod, newPod("zone-a", 1)} {
		if err := o.PutInCache(object); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.RemoveFromCache(pod); err != nil {
		t.Fatal(err)
	}
	for version, object := range map[plan.Version]runtime.Object{20: set, 30: pod} {
		if err := o.AdvanceCache(version, object); err != nil {
			t.Fatal(err)
		}
	}
	s := o.Cached(store)
	if len(s.Zones) != 1 || len(s.Zones[0].Pods) != 1 || s.Zones[0].Pods[0].Name != "zone-a-1" || s.ZonesAt != 20 || s.PodsAt != 30 {
		t.Errorf("the caches show %+v at %d and %d, want zone-a with zone-a-1 at 20 and 30", s.Zones, s.ZonesAt, s.PodsAt)
	}
	if err := o.PutInCache(&corev1.Service{}); err == nil {
		t.Error("a cache shows a Service")
	}
}
