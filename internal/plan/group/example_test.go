package group_test

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Both zones ask for revision 2. The first pod of the first zone is deleted. The other zone
// waits, and the plan says for what. The hold records which zones exist.
func ExampleGroup() {
	now := time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)
	zone := func(name string) group.Zone {
		z := group.Zone{
			Name: name, Replicas: 2, UpdateRevision: "2", CurrentRevision: "1", Observed: true, OnDelete: true,
		}
		for ordinal := range 2 {
			z.Pods = append(z.Pods, plan.Pod{
				Name: plan.PodName(name, ordinal), Ordinal: ordinal, UID: "some", Version: 7,
				Revision: "1", Phase: plan.Ready, ReadySince: now.Add(-time.Hour),
			})
		}
		return z
	}
	steps := group.Plan(group.Snapshot{
		Key: plan.Key{Namespace: "team", Name: "store"}, Now: now,
		Zones: []group.Zone{zone("zone-a"), zone("zone-b")},
	})
	fmt.Println(plan.Notation(steps))
	// Output:
	// delete zone-a-0 of zone-a because OutdatedRevision
	// remember zone-a zone-b
	// wait zone-b because NotItsTurn zone-a
}
