package pools

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func breaksSurplusExact(v *view, steps []plan.Action) string {
	leave := map[string]bool{}
	last := ""
	for _, d := range disruptions(steps) {
		if d.Because == reason.ScaledDown {
			leave[d.Pod], last = true, d.Pod
		}
	}
	if last == "" {
		return ""
	}
	for _, i := range v.counting {
		if i.Cause == reason.ScaledDown && !isCancelled(i, steps) {
			leave[i.Pod] = true
		}
	}
	stay := v.waitForPods()
	for i := range v.Pods {
		if p := &v.Pods[i]; v.owned(p) && !terminates(p) && !p.Finished && !leave[p.Name] {
			stay++
		}
	}
	if stay < v.Object.Replicas {
		return fmt.Sprintf("%s is deleted, and %d of %d stay", last, stay, v.Object.Replicas)
	}
	return ""
}

// isCancelled reports whether a plan cancels a recorded disruption.
func isCancelled(i plan.Intent, steps []plan.Action) bool {
	return slices.ContainsFunc(only[plan.CancelDeletion](steps), func(a plan.CancelDeletion) bool { return a.Intent.Pod == i.Pod && a.Intent.UID == i.UID })
}

// waitForPods is how many identities get another pod, and have none that could serve: it is recorded, or their policy says
// so.
func (v *view) waitForPods() int {
	wait := map[pool.ID]bool{}
	for _, c := range v.Claims {
		p, exists := v.podNamed(v.nameOf(c.ID))
		recorded := slices.ContainsFunc(v.counting, func(i plan.Intent) bool {
			return i.Pod == v.nameOf(c.ID) && (i.Cause == reason.IdentityHandover || isGrant(i))
		})
		kept := recorded || c.Retain || v.Object.Keep.OnDelete || v.Object.Keep.OnEviction
		if c.Pool == v.Object.UID && kept && !c.Retired && !c.Deleting && (!exists || terminates(&p) || p.Finished) {
			wait[c.ID] = true
		}
	}
	return len(wait)
}
