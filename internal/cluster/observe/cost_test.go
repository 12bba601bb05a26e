package observe

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// The cost of an event depends on its group, not on the cluster.
func BenchmarkPodEvent(b *testing.B) {
	for _, others := range []int{0, 1000} {
		b.Run(fmt.Sprint("beside ", others, " groups that roll"), func(b *testing.B) {
			o := newObserver(b, unreachable)
			show(o, newSet("zone-a"))
			for i := range others {
				zone := fmt.Sprint("other-", i)
				showHold(o, newHold(zone, "rollout/"+zone, recordedIntent(zone, zone+"-0")))
			}
			was, is := must(trimPod(newPod("zone-a", 0))), must(trimPod(newPod("zone-a", 0, terminating)))
			h := o.podEvents(func(plan.Key) {})
			for b.Loop() {
				h.OnUpdate(was, is)
			}
		})
	}
}

// A cluster may have a hundred thousand of these records. The allocator rounds sizes up: one more
// field beyond this size costs 16 bytes.
func TestTrimmedPodsAreSmall(t *testing.T) {
	if size := reflect.TypeFor[podRecord]().Size(); size > 160 {
		t.Errorf("%d bytes", size)
	}
}
