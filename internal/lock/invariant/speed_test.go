package invariant_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// BenchmarkCheck checks plans for a group of three zones. Each plan deletes pods that are up, and as many
// pods are recorded already.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []struct{ pods, deletes int }{{300, 0}, {300, 1}, {5000, 0}, {5000, 1}, {5000, 50}} {
		b.Run(fmt.Sprintf("%d pods, %d deletes", size.pods, size.deletes), func(b *testing.B) {
			s, steps, intents := rolling(size.pods, size.deletes)
			decision := writing(plan.RolloutOperation.For("zone-a"), intents...)
			b.ReportAllocs()
			for b.Loop() {
				if v := invariant.Check(s, steps, decision); v != nil {
					b.Fatal(v)
				}
			}
		})
	}
}

// BenchmarkCheckEviction checks the eviction of one pod of a group of three zones.
func BenchmarkCheckEviction(b *testing.B) {
	for _, pods := range []int{300, 5000} {
		b.Run(fmt.Sprintf("%d pods", pods), func(b *testing.B) {
			s, _, _ := rolling(pods, 0)
			answer, decision := granted("zone-a-0"), evicting("eviction/zone-a", "zone-a-0")
			s.Hold = group.Hold{}
			b.ReportAllocs()
			for b.Loop() {
				if v := invariant.CheckEviction(s, plan.EvictionRequest{Pod: "zone-a-0", UID: "zone-a-0"}, answer, decision); v != nil {
					b.Fatal(v)
				}
			}
		})
	}
}

// rolling returns a group of three zones. One zone is rolled out: the deletes and their intents are returned,
// and as many other intents are of pods that are being replaced.
func rolling(pods, deletes int) (group.Snapshot, []plan.Action, []plan.Intent) {
	var zones []fixture.Part
	for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
		parts := []fixture.ZonePart{fixture.Replicas(pods / 3)}
		for ordinal := range pods / 3 {
			phase := plan.Ready
			if zone == "zone-a" && ordinal >= deletes && ordinal < 2*deletes {
				phase = plan.Starting
			}
			parts = append(parts, fixture.Pod(ordinal, phase, "1"))
		}
		zones = append(zones, fixture.Zone(zone, "2", parts...))
	}
	s := fixture.Group(zones...)
	s.Zones[0].MaxUnavailable = plan.Budget{Pods: max(1, 2*deletes)}
	var steps []plan.Action
	var intents []plan.Intent
	for ordinal := range 2 * deletes {
		p := s.Zones[0].Pods[ordinal]
		if ordinal < deletes {
			steps = append(steps, plan.DeletePod{Zone: "zone-a", Pod: p.Name, UID: p.UID, Version: p.Version, Up: true})
		} else {
			s.Hold.Intents = append(s.Hold.Intents, fixture.IntentAt(p.Name, p.UID, p.Version))
		}
		intents = append(intents, fixture.IntentAt(p.Name, p.UID, p.Version))
	}
	s.Hold.Holder = plan.RolloutOperation.For("zone-a")
	return s, steps, intents
}
