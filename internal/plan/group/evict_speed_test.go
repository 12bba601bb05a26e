package group_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// BenchmarkEvict refuses an eviction, in groups of that many pods in three zones.
func BenchmarkEvict(b *testing.B) {
	for _, pods := range []int{30, 300, 5000} {
		for mode, budget := range map[string]group.DisruptionBudget{
			"zones":      {Name: "store", Limit: 1},
			"partitions": {Name: "store", Limit: 1, Partition: fixture.Partitions(`zone-[a-c]-([0-9]+)`), Group: 1},
		} {
			b.Run(fmt.Sprintf("%d pods by %s", pods, mode), func(b *testing.B) {
				s := ofSize(pods)
				s.Budgets = []group.DisruptionBudget{budget}
				for b.Loop() {
					if group.Evict(s, plan.EvictionRequest{Pod: "zone-a-0", UID: "zone-a-0"}).Allowed() {
						b.Fatal("a pod may be evicted although the group is unavailable")
					}
				}
			})
		}
	}
}

// ofSize returns a group of three zones. The first pod of zone-c is not Ready.
func ofSize(pods int) group.Snapshot {
	var zones []fixture.Part
	for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
		var parts []fixture.ZonePart
		for ordinal := range pods / 3 {
			phase := plan.Ready
			if zone == "zone-c" && ordinal == 0 {
				phase = plan.Starting
			}
			parts = append(parts, fixture.Pod(ordinal, phase, "rev-1"))
		}
		zones = append(zones, fixture.Zone(zone, "rev-1", append(parts, fixture.Replicas(pods/3))...))
	}
	return fixture.Group(zones...)
}
