package invariant

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// pods makes a rule of what must be true of deletes.
func pods(broken func(*plan.Snapshot, []plan.DeletePod, *hold.Decision) string) func(*plan.Snapshot, []plan.Action, *hold.Decision) string {
	return func(s *plan.Snapshot, steps []plan.Action, decision *hold.Decision) string {
		return broken(s, only[plan.DeletePod](steps), decision)
	}
}

func breaksOneZoneAtATime(s *plan.Snapshot, deletes []plan.DeletePod, decision *hold.Decision) string {
	for _, d := range deletes {
		if !d.Up {
			continue
		}
		for _, other := range deletes {
			if other.Up && other.Zone != d.Zone {
				return fmt.Sprintf("%s and %s are taken down together", d.Pod, other.Pod)
			}
		}
		if noted := decision.Record.Decrease; !noted.None() && noted.Zone != d.Zone {
			return fmt.Sprintf("%s is taken down beside the downscale of %s", d.Pod, noted)
		}
		for _, i := range s.Hold.Intents {
			if i.Zone != d.Zone && s.Fate(i).Counts() {
				return fmt.Sprintf("%s is taken down while %s of zone %s is noted", d.Pod, i.Pod, i.Zone)
			}
		}
	}
	return ""
}

func breaksNotedFirst(_ *plan.Snapshot, deletes []plan.DeletePod, decision *hold.Decision) string {
	for _, d := range deletes {
		if d.Up && (decision.Need != hold.Write || !notes(decision.Record, d)) {
			return fmt.Sprintf("%s would be deleted without an intent", d.Pod)
		}
	}
	return ""
}

func notes(record plan.Hold, d plan.DeletePod) bool {
	if record.Holder != plan.Rollout.For(d.Zone) {
		return false
	}
	for _, i := range record.Intents {
		if i.Pod == d.Pod && i.UID == d.UID && i.Version == d.Version {
			return true
		}
	}
	return false
}

func breaksRestIsWhole(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for _, d := range deletes {
		if !d.Up {
			continue
		}
		for i := range s.Zones {
			z := &s.Zones[i]
			if z.Name == d.Zone {
				continue
			}
			if n := len(available(s, z)); n < z.Replicas {
				return fmt.Sprintf("%s is taken down while zone %s has %d of %d pods available", d.Pod, z.Name, n, z.Replicas)
			}
		}
	}
	return ""
}

func breaksOnDeleteOnly(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for i := range s.Zones {
		if z := &s.Zones[i]; !z.OnDelete && len(deletes) > 0 {
			return fmt.Sprintf("%s is deleted while zone %s is not OnDelete", deletes[0].Pod, z.Name)
		}
	}
	return ""
}

func breaksStandStill(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for _, d := range deletes {
		if z, _ := s.Zone(d.Zone); z.PausedAt(s.Now) {
			return fmt.Sprintf("%s of the paused zone %s is deleted", d.Pod, d.Zone)
		}
	}
	return ""
}

// breaksWithinBudget counts the ordinals that would be unavailable after the deeds, and
// objects only where a deed takes down a pod that is up, available or not yet.
func breaksWithinBudget(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for i := range s.Zones {
		z := &s.Zones[i]
		if !slices.ContainsFunc(deletes, func(d plan.DeletePod) bool { return d.Zone == z.Name }) {
			continue
		}
		up, budget, taken := available(s, z), z.MaxUnavailable.Of(z.Replicas), false
		for _, d := range deletes {
			if ordinal, ok := plan.OrdinalOf(z.Name, d.Pod); ok && d.Zone == z.Name {
				if d.Up {
					budget, taken = min(budget, leastBudget(s, z, ordinal)), true
				}
				delete(up, ordinal)
			}
		}
		for _, i := range s.Hold.Intents {
			if ordinal, ok := plan.OrdinalOf(z.Name, i.Pod); ok && s.Fate(i).Counts() {
				delete(up, ordinal)
			}
		}
		if down := z.Replicas - len(up); taken && down > budget {
			return fmt.Sprintf("zone %s would have %d pods down, its budget is %d", z.Name, down, budget)
		}
	}
	return ""
}

func breaksExactTarget(s *plan.Snapshot, deletes []plan.DeletePod, _ *hold.Decision) string {
	for _, d := range deletes {
		z, _ := s.Zone(d.Zone)
		if !has(&z, d) {
			return fmt.Sprintf("%s (%s at %d) is not what zone %s shows", d.Pod, d.UID, d.Version, d.Zone)
		}
	}
	return ""
}

func has(z *plan.Zone, d plan.DeletePod) bool {
	for _, p := range z.Pods {
		if p.Name == d.Pod {
			return p.UID == d.UID && p.Version == d.Version && p.Up() == d.Up && p.Phase != plan.Leaving
		}
	}
	return false
}
