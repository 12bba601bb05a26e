package pools

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

func breaksOwnPodsOnly(v *view, steps []plan.Action) string {
	for _, a := range only[pool.AdoptPod](steps) {
		free := slices.ContainsFunc(v.Orphans.Pods, func(o pool.Orphan) bool {
			return o.Name == a.Pod && o.UID == a.UID && o.Version == a.Version && o.Controller == "" && (o.Labelled || v.Object.Adopt)
		}) || slices.ContainsFunc(v.Pods, func(p pool.Pod) bool {
			return p.Name == a.Pod && p.UID == a.UID && p.Version == a.Version && p.Owner == "" && !p.Unmatched && p.ID == a.ID
		})
		taken := slices.ContainsFunc(v.Pods, func(p pool.Pod) bool { return p.ID == a.ID && p.UID != a.UID || v.owned(&p) && p.Name == a.Pod })
		switch {
		case !v.Live || v.Object.Deleting:
			return fmt.Sprintf("%s is adopted, and no live read shows that its object exists", a.Pod)
		case !free:
			return fmt.Sprintf("%s is adopted, which belongs to something else or is not asked for", a.Pod)
		case a.Pod != v.nameOf(a.ID) || taken:
			return fmt.Sprintf("%s is adopted as identity %s, which another pod has or which its name does not show", a.Pod, a.ID)
		}
	}
	for _, a := range only[pool.ReleasePod](steps) {
		p, shown := v.podNamed(a.Pod)
		if exact := shown && p.UID == a.UID && p.Version == a.Version && p.Owner == v.Object.UID; !exact || !p.Unmatched {
			return fmt.Sprintf("%s is released, which the selector matches or which is not shown in this way", a.Pod)
		}
	}
	return ""
}

func breaksOwnClaimsOnly(v *view, steps []plan.Action) string {
	for _, a := range only[pool.LabelClaims](steps) {
		p, shown := v.podNamed(a.Pod)
		if !v.Live || !shown || !v.owned(&p) || p.ID != a.ID {
			return fmt.Sprintf("claims of %s get labels, and no live read shows that it is a pod of the object", a.Pod)
		}
		for _, c := range a.Claims {
			mounted := slices.Contains(p.Mounts, pool.Mount{Template: c.Template, Claim: c.Name})
			free := c.Owner == "" && slices.Contains(v.Unlabelled, c)
			if !(mounted && free) && !v.wasClaimOf(&p, c) {
				return fmt.Sprintf("claim %s gets the labels of %s, which does not mount it, or it belongs to something else", c.Name, a.Pod)
			}
		}
	}
	return ""
}

// wasClaimOf reports whether a claim has the name and the labels of an identity under an earlier object.
func (v *view) wasClaimOf(p *pool.Pod, c pool.UnlabelledClaim) bool {
	return slices.ContainsFunc(v.Claims, func(seen pool.Claim) bool {
		isSame := seen.Name == c.Name && seen.UID == c.UID && seen.Version == c.Version && seen.Template == c.Template
		return isSame && seen.ID == p.ID && seen.Pool != v.Object.UID && !seen.Deleting && c.Name == v.Key.Name+"-"+c.Template+"-"+string(p.ID)
	})
}
