package pools

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func breaksIdentityNew(v *view, steps []plan.Action) string {
	drawn := map[pool.ID]bool{}
	for _, a := range only[pool.CreatePods](steps) {
		for _, id := range a.IDs {
			hasClaim := slices.ContainsFunc(v.Claims, func(c pool.Claim) bool { return c.ID == id })
			if drawn[id] || hasClaim || v.hasPod(id) {
				return fmt.Sprintf("a pod of identity %s is created, which exists", id)
			}
			drawn[id] = true
		}
	}
	return ""
}

func breaksHandoverRecorded(v *view, steps []plan.Action) string {
	for _, a := range only[pool.HandOver](steps) {
		recorded := slices.ContainsFunc(v.recorded(), func(i plan.Intent) bool {
			return i.Pod == v.nameOf(a.ID) && cmp.Or(i.From, i.UID) == a.From && (i.Cause == reason.IdentityHandover || isGrant(i))
		})
		switch missing := v.missingClaim(a.ID, a.From); {
		case !v.verifies(a):
			return fmt.Sprintf("identity %s gets another pod, and not each claim that it had is verified", a.ID)
		case v.hasPod(a.ID):
			return fmt.Sprintf("identity %s gets another pod beside one that exists", a.ID)
		case !recorded:
			return fmt.Sprintf("identity %s gets another pod, and no hand-over of %s is recorded", a.ID, a.From)
		case missing != "":
			return fmt.Sprintf("identity %s gets another pod without %s", a.ID, missing)
		}
	}
	return ""
}

// verifies reports whether a hand-over depends on each claim that the identity had and keeps, as shown.
func (v *view) verifies(a pool.HandOver) bool {
	for _, c := range v.claimsOf(a.ID) {
		depends := slices.ContainsFunc(a.Had, func(had pool.Claim) bool { return had.Name == c.Name && had.UID == c.UID && had.Version == c.Version })
		if c.From == a.From && !c.Deleting && !depends {
			return false
		}
	}
	return true
}

// missingClaim returns what an identity lacks of the claims that it had with a pod.
func (v *view) missingClaim(id pool.ID, from string) string {
	there := map[string]bool{}
	for _, c := range v.claimsOf(id) {
		if c.From == from && !c.Retired && !c.Deleting {
			there[c.Template] = true
		}
	}
	if len(there) == 0 {
		return "any claim"
	}
	for _, c := range v.claimsOf(id) {
		for _, sibling := range c.Siblings {
			if there[c.Template] && c.From == from && !there[sibling] {
				return "its claim " + sibling
			}
		}
	}
	return ""
}

func breaksClaimsCreatedOnce(v *view, steps []plan.Action) string {
	for _, a := range only[pool.CompletePod](steps) {
		p, shown := v.podNamed(a.Pod)
		if !shown || !v.owned(&p) || p.UID != a.UID || !p.Gated || terminates(&p) || p.ID != a.ID {
			return fmt.Sprintf("claims are created for %s, which is not shown to wait for them", a.Pod)
		}
		if p.From == "" {
			continue
		}
		if missing := v.missingClaim(a.ID, p.From); missing != "" {
			return fmt.Sprintf("claims are created for %s, which lacks %s", a.Pod, missing)
		}
	}
	return ""
}
