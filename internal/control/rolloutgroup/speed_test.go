package rolloutgroup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// thousandPods is a group of three zones in the middle of a rollout.
func thousandPods() evaluation {
	var groupState strings.Builder
	for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
		fmt.Fprintf(&groupState, "%s rev=2 current=1\n", zone)
		for i := range 333 {
			fmt.Fprintf(&groupState, " %s-%d ready@%d\n", zone, i, 1+i%2)
		}
	}
	s := fixture.MustParse(groupState.String())
	return evaluation{s, group.Plan(s)}
}

// BenchmarkPlanOfAThousandPods measures the plan of a reconcile, for comparison.
func BenchmarkPlanOfAThousandPods(b *testing.B) {
	th := thousandPods()
	for b.Loop() {
		group.Plan(th.snapshot)
	}
}

// BenchmarkTakeOfAThousandPods measures the cost of Take for a reconcile.
func BenchmarkTakeOfAThousandPods(b *testing.B) {
	th := thousandPods()
	c := New(Options{Cache: NewCache(CacheOptions{})})
	for b.Loop() {
		c.Take(th.snapshot, th.steps)
	}
}

// BenchmarkStatusOfAThousandPods measures the status of a write, which happens at most once a second.
func BenchmarkStatusOfAThousandPods(b *testing.B) {
	th := thousandPods()
	for b.Loop() {
		statusOf(th, 1, v1alpha1.RolloutGroupStatus{})
	}
}
