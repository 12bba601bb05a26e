package invariant

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// pods makes a rule from a check of deletes.
func pods(broken func(*view, []plan.DeletePod, *decided) string) func(*view, []plan.Action, *decided) string {
	return func(v *view, steps []plan.Action, decision *decided) string {
		return broken(v, only[plan.DeletePod](steps), decision)
	}
}

func breaksOneZoneAtATime(v *view, deletes []plan.DeletePod, decision *decided) string {
	for _, d := range deletes {
		if !d.Up {
			continue
		}
		for _, other := range deletes {
			if other.Up && other.Zone != d.Zone {
				return fmt.Sprintf("%s and %s are deleted together", d.Pod, other.Pod)
			}
		}
		if recorded := decision.Record.Downscale; recorded.Zone != "" && recorded.Zone != d.Zone {
			return fmt.Sprintf("%s is deleted during the downscale of %s", d.Pod, recorded)
		}
		if i, found := v.recordedElsewhere(d.Zone); found {
			return fmt.Sprintf("%s is deleted while %s of zone %s is recorded", d.Pod, i.Pod, i.Zone)
		}
	}
	return ""
}

func breaksRecordedFirst(_ *view, deletes []plan.DeletePod, decision *decided) string {
	for _, d := range deletes {
		if d.Up && (decision.Need != hold.Write || !records(&decision.Record, d)) {
			return fmt.Sprintf("%s would be deleted without an intent", d.Pod)
		}
	}
	return ""
}

func breaksConfirmedFirst(_ *view, steps []plan.Action, decision *decided) string {
	for _, step := range steps {
		size, resizes := step.(group.SetReplicas)
		_, deletes := step.(plan.DeletePod)
		if (deletes || resizes && size.To < size.From) && !decision.Verify {
			return fmt.Sprintf("%q before the StatefulSets were read again", step)
		}
	}
	return ""
}

func records(record *group.Hold, d plan.DeletePod) bool {
	return record.Holder == holderOf(plan.RolloutOperation, d.Zone) && slices.ContainsFunc(record.Intents, func(i plan.Intent) bool {
		return i.Pod == d.Pod && i.UID == d.UID && i.Version == d.Version
	})
}

func breaksOthersAvailable(v *view, deletes []plan.DeletePod, _ *decided) string {
	for _, d := range deletes {
		if !d.Up {
			continue
		}
		if z, found := v.otherUnavailable(d.Zone); found {
			return fmt.Sprintf("%s is deleted while zone %s has %d of %d pods available", d.Pod, z.Name, len(v.availableOf(z)), z.Replicas)
		}
	}
	return ""
}

func breaksOnDeleteOnly(v *view, deletes []plan.DeletePod, _ *decided) string {
	for i := range v.zones {
		if z := &v.zones[i]; !z.OnDelete && len(deletes) > 0 {
			return fmt.Sprintf("%s is deleted while zone %s is not OnDelete", deletes[0].Pod, z.Name)
		}
	}
	return ""
}

func breaksNotPaused(v *view, deletes []plan.DeletePod, _ *decided) string {
	for _, d := range deletes {
		if z, _ := v.zoneNamed(d.Zone); v.isPaused(z) {
			return fmt.Sprintf("%s of the paused zone %s is deleted", d.Pod, d.Zone)
		}
	}
	return ""
}

// breaksWithinBudget counts the ordinals that would be unavailable after the deletes. It checks only zones in
// which a pod that is up, available or not yet, is deleted.
func breaksWithinBudget(v *view, deletes []plan.DeletePod, _ *decided) string {
	for i := range v.zones {
		z := &v.zones[i]
		var taken []int
		budget := unavailableLimit(z)
		for _, d := range deletes {
			if ordinal, is := plan.OrdinalOf(z.Name, d.Pod); is && d.Zone == z.Name && d.Up {
				taken, budget = append(taken, ordinal), min(budget, v.leastLimit(z, d.Pod))
			}
		}
		if len(taken) == 0 {
			continue
		}
		if down := v.downWith(z, taken...); down > budget {
			return fmt.Sprintf("zone %s would have %d pods down, its budget is %d", z.Name, down, budget)
		}
	}
	return ""
}

func breaksExactTarget(v *view, deletes []plan.DeletePod, _ *decided) string {
	for _, d := range deletes {
		if z, _ := v.zoneNamed(d.Zone); !z.shows(d) {
			return fmt.Sprintf("%s (%s at %d) is not what zone %s shows", d.Pod, d.UID, d.Version, d.Zone)
		}
	}
	return ""
}

func (z *zone) shows(d plan.DeletePod) bool {
	for _, p := range z.Pods {
		if p.Name == d.Pod {
			return p.UID == d.UID && p.Version == d.Version && up(p) == d.Up && !terminating(p) && !p.Unadopted
		}
	}
	return false
}
