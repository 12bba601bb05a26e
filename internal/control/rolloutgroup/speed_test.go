package rolloutgroup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// thousandPods is a group of three zones in the middle of a rollout.
func thousandPods() thought {
	var situation strings.Builder
	for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
		fmt.Fprintf(&situation, "%s rev=2 current=1\n", zone)
		for i := range 333 {
			fmt.Fprintf(&situation, " %s-%d ready@%d\n", zone, i, 1+i%2)
		}
	}
	s := fixture.MustParse(situation.String())
	return thought{s, plan.Group(s)}
}

// BenchmarkPlanOfAThousandPods is what a reconcile thinks anyway.
func BenchmarkPlanOfAThousandPods(b *testing.B) {
	th := thousandPods()
	for b.Loop() {
		plan.Group(th.snapshot)
	}
}

// BenchmarkTakeOfAThousandPods is what a reconcile pays for being shown.
func BenchmarkTakeOfAThousandPods(b *testing.B) {
	th := thousandPods()
	c := New(Options{Cache: NewCache(CacheOptions{})})
	for b.Loop() {
		c.Take(th.snapshot, th.steps)
	}
}

// BenchmarkStatusOfAThousandPods is what a write begins with, at most once a second.
func BenchmarkStatusOfAThousandPods(b *testing.B) {
	th := thousandPods()
	for b.Loop() {
		statusOf(th, 1, v1alpha1.RolloutGroupStatus{})
	}
}
