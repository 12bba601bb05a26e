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
		if isSurplus(d.Because) {
			leave[d.Pod], last = true, d.Pod
		}
	}
	if last == "" {
		return ""
	}
	for _, i := range v.counting {
		if isSurplus(i.Cause) && !isCancelled(i, steps) {
			leave[i.Pod] = true
		}
	}
	stay := v.waitForPods(steps)
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

// isSurplus reports whether a pod leaves because it is too many.
func isSurplus(cause reason.Code) bool {
	return cause == reason.ScaledDown || cause == reason.ReplicasExceeded
}

// breaksLoweredOnly checks pools whose Lease records how many pods were asked for. Those that are recorded to leave have been taken
// off the number.
func breaksLoweredOnly(v *view, steps []plan.Action) string {
	if !v.Part.Recorded {
		return ""
	}
	may, leave, last := v.Part.Replicas-v.Object.Replicas, map[string]bool{}, ""
	for _, i := range v.Hold.Intents {
		p, shown := v.podNamed(i.Pod)
		if i.Cause != reason.ScaledDown || !shown || p.UID != i.UID || !v.owned(&p) || terminates(&p) || p.Finished {
			continue
		}
		may++
		if slices.Contains(v.counting, i) && !isCancelled(i, steps) {
			leave[i.UID] = true
		}
	}
	for _, d := range disruptions(steps) {
		if d.Because == reason.ScaledDown {
			leave[d.UID], last = true, d.Pod
		}
	}
	if last != "" && len(leave) > may {
		return fmt.Sprintf("%s leaves because fewer pods are asked for, and the Lease records that %d were, %d are", last, v.Part.Replicas, v.Object.Replicas)
	}
	return ""
}

// breaksLoweredFirst checks that pods which leave because fewer are asked for leave as such: what becomes of their claims depends on it.
func breaksLoweredFirst(v *view, steps []plan.Action) string {
	last, leave := "", map[string]bool{}
	lowered, updated := v.Part.Replicas-v.Object.Replicas, 0
	for _, d := range disruptions(steps) {
		leave[d.Pod] = isSurplus(d.Because)
		if d.Because == reason.UpdatedByNewIdentity {
			last = d.Pod
			updated++
		}
		recorded := slices.ContainsFunc(v.Hold.Intents, func(i plan.Intent) bool { return i.UID == d.UID && i.Cause == reason.ScaledDown })
		if d.Because == reason.ScaledDown && !recorded {
			lowered--
		}
	}
	stay := 0
	for i := range v.Pods {
		if p := &v.Pods[i]; v.owned(p) && !terminates(p) && !p.Finished && !leave[p.Name] {
			stay++
		}
	}
	canLeave := func(stay int) int { return min(lowered, max(0, stay-v.Object.Replicas)) } // because fewer are asked for
	tooFew := v.Part.Recorded && canLeave(stay-updated) < canLeave(stay)
	if last != "" && (v.Object.Replicas == 0 || tooFew) {
		return fmt.Sprintf("%s is replaced by a new identity, and %d pods are asked for, where %d were", last, v.Object.Replicas, v.Part.Replicas)
	}
	return ""
}

// isCancelled reports whether a plan cancels a recorded disruption.
func isCancelled(i plan.Intent, steps []plan.Action) bool {
	return slices.ContainsFunc(only[plan.CancelDeletion](steps), func(a plan.CancelDeletion) bool { return a.Intent.Pod == i.Pod && a.Intent.UID == i.UID })
}

// waitForPods is how many identities get another pod, and have none that could serve: it is recorded, their policy says so, or the plan
// begins to hand them over.
func (v *view) waitForPods(steps []plan.Action) int {
	wait, handedOver := map[pool.ID]bool{}, map[pool.ID]bool{}
	for _, a := range only[pool.PrepareHandover](steps) {
		handedOver[a.ID] = a.From != ""
	}
	for _, d := range disruptions(steps) {
		if p, shown := v.podNamed(d.Pod); shown && d.Because == reason.IdentityHandover {
			handedOver[p.ID] = true
		}
	}
	for _, c := range v.Claims {
		p, exists := v.podNamed(v.nameOf(c.ID))
		recorded := slices.ContainsFunc(v.counting, func(i plan.Intent) bool {
			return i.Pod == v.nameOf(c.ID) && (i.Cause == reason.IdentityHandover || isGrant(i))
		})
		kept := recorded || c.Retain || v.Object.Keep.OnDelete || v.Object.Keep.OnEviction || handedOver[c.ID]
		if c.Pool == v.Object.UID && kept && !c.Retired && !c.Deleting && (!exists || terminates(&p) || p.Finished) {
			wait[c.ID] = true
		}
	}
	return len(wait)
}
