package pools

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func breaksEndedWithoutPod(v *view, steps []plan.Action) string {
	for _, a := range only[pool.RetireIdentity](steps) {
		foreign := slices.ContainsFunc(a.Claims, func(c pool.Claim) bool { return c.Pool != v.Object.UID || c.ID != a.ID })
		if !v.Live || foreign || v.hasPod(a.ID) {
			return fmt.Sprintf("identity %s ends, and no live read shows that it has no pod", a.ID)
		}
	}
	return ""
}

func breaksClaimKept(v *view, steps []plan.Action) string {
	for _, a := range only[pool.DeleteClaims](steps) {
		for _, c := range a.Claims {
			if c.ID != a.ID || c.Pool != v.Object.UID {
				return fmt.Sprintf("claim %s is deleted, which is not of identity %s", c.Name, a.ID)
			}
		}
		if why := v.mustStay(a.ID); why != "" {
			return fmt.Sprintf("the claims of identity %s are deleted, and %s", a.ID, why)
		}
	}
	return ""
}

// mustStay returns why the claims of an identity must stay; empty: the policy gives them up.
func (v *view) mustStay(id pool.ID) string {
	recorded := slices.ContainsFunc(v.counting, func(i plan.Intent) bool { return i.Pod == v.nameOf(id) })
	switch {
	case !v.Live:
		return "no live read shows that"
	case v.hasPod(id):
		return "it has a pod"
	case recorded:
		return "it is recorded"
	}
	ended, kept, handedOver := time.Time{}, false, false
	for _, c := range v.claimsOf(id) {
		switch {
		case !c.Retired || c.Ended.IsZero():
			return c.Name + " does not say that it has ended"
		case c.Keep:
			return c.Name + " is to be kept"
		case c.Ended.After(ended):
			ended = c.Ended
		}
		handedOver = handedOver || c.From != "" && c.Because == reason.IdentityLost
		kept = kept || c.Because != reason.ScaledDown && !v.Object.Claim.DeleteWhenReplaced
		kept = kept || (isSurplus(c.Because) || c.Because == reason.HandoverUnneeded) && !v.Object.Claim.DeleteWhenScaled
	}
	policy := v.Object.Claim
	switch {
	case !kept && !handedOver:
	case policy.DeleteAfter > 0 && v.Now.Sub(ended) >= policy.DeleteAfter:
	case handedOver:
		return "its hand-over was not recorded any more"
	case policy.Limit != nil && v.endedSince(ended, id) >= *policy.Limit:
	default:
		return "the policy keeps them"
	}
	return ""
}

// endedSince is how many other identities have ended at that time or later.
func (v *view) endedSince(ended time.Time, than pool.ID) int {
	later := map[pool.ID]bool{}
	for _, c := range v.Claims {
		if c.Pool == v.Object.UID && c.Retired && c.ID != than && !c.Ended.Before(ended) {
			later[c.ID] = true
		}
	}
	return len(later)
}
