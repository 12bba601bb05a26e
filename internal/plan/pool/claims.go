package pool

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ClaimPolicy says what becomes of claims. They stay unless it says otherwise.
type ClaimPolicy struct {
	DeleteWithObject   bool          // they belong to the object, so Kubernetes deletes them with it
	DeleteWhenScaled   bool          // those of identities that left because fewer were asked for
	DeleteWhenReplaced bool          // those of identities that left for another reason
	DeleteAfter        time.Duration // those of identities that ended so long ago; 0: never
	Limit              *int          // how many ended identities keep theirs, the latest ones; nil: all
}

// mayDeleteReplaced reports whether claims of an identity that left for another reason than a downscale are deleted although they are
// not old.
func (c *ClaimPolicy) mayDeleteReplaced() bool { return c.DeleteWhenReplaced || c.Limit != nil }

// ClaimRule is the field of the policy because of which claims are deleted. The empty ClaimRule is none: they stay.
type ClaimRule string

// The fields. Kubernetes deletes the claims for which whenDeleted says so.
const (
	WhenScaled        ClaimRule = "whenScaled"
	WhenReplaced      ClaimRule = "whenReplaced"
	RetiredTTLSeconds ClaimRule = "retiredTTLSeconds"
	RetiredLimit      ClaimRule = "retiredLimit"
)

// DeleteClaims deletes the claims of an identity that has ended.
type DeleteClaims struct {
	Pool   string
	ID     ID
	Claims []Claim
	Policy ClaimRule
}

// Reason implements plan.Action.
func (DeleteClaims) Reason() reason.Code { return reason.ClaimsUnneeded }

// Effect implements plan.Action. A cache may lack a pod that exists, or an intent.
func (a DeleteClaims) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Pod: PodName(a.Pool, a.ID), Order: plan.WithoutHold, Visible: true, Read: plan.Always}
}

// Event implements plan.Action.
func (a DeleteClaims) Event() plan.Event {
	return plan.Event{Zone: a.Pool, Action: "DeleteClaims", Note: fmt.Sprintf("deleted %d claims of identity %s: %s", len(a.Claims), a.ID, a.Reason().Sentence())}
}

// String implements plan.Action: delete 2 claims of 0123456789abcdef of web.
func (a DeleteClaims) String() string {
	return fmt.Sprintf("delete %d claims of %s of %s", len(a.Claims), a.ID, a.Pool)
}

// OwnClaims makes claims belong to the object, or not any more.
type OwnClaims struct {
	Pool   string
	Claims []Claim
	Owned  bool
}

// Reason implements plan.Action.
func (OwnClaims) Reason() reason.Code { return reason.ClaimsOwned }

// Effect implements plan.Action. A cache may show an object that is deleted and leaves its claims behind: what belongs to it
// then is deleted.
func (a OwnClaims) Effect() plan.Effect {
	read := plan.OnCaches
	if a.Owned {
		read = plan.Always
	}
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold, Visible: true, Read: read}
}

// Event implements plan.Action.
func (OwnClaims) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: own 2 claims of web.
func (a OwnClaims) String() string {
	verb := "own"
	if !a.Owned {
		verb = "disown"
	}
	return fmt.Sprintf("%s %d claims of %s", verb, len(a.Claims), a.Pool)
}

// spent is an identity that has ended and still has claims.
type spent struct {
	id     ID
	claims []Claim
	ended  time.Time
	keep   bool // a person wants to keep one of its claims
}

// spentIdentities returns the identities that have ended and have neither a pod nor a record, the latest first. Claims of
// an earlier object belong to no identity of this one.
func (p *poolState) spentIdentities() []spent {
	var all []spent
	known := map[ID]int{} // where an identity is in all
	for _, c := range p.Claims {
		if c.Pool != p.Object.UID || !c.Retired || c.Ended.IsZero() || p.hasPod(c.ID) || p.openOf[PodName(p.Key.Name, c.ID)] {
			continue
		}
		i, exists := known[c.ID]
		if !exists {
			i = len(all)
			all, known[c.ID] = append(all, spent{id: c.ID}), i
		}
		s := &all[i]
		s.claims, s.ended, s.keep = append(s.claims, c), latest(s.ended, c.Ended), s.keep || c.Keep
	}
	all = slices.DeleteFunc(all, func(s spent) bool { return len(s.claims) < len(p.claimsOf(s.id)) }) // one is not marked yet
	slices.SortStableFunc(all, func(a, b spent) int { return cmp.Or(-a.ended.Compare(b.ended), cmp.Compare(a.id, b.id)) })
	return all
}

// claimDeletions deletes the claims that the policy gives up. Nothing else deletes a claim.
func (p *poolState) claimDeletions() []plan.Action {
	var steps []plan.Action
	kept := 0
	for _, s := range p.spentIdentities() {
		policy := p.givesUp(s, kept)
		if s.keep || policy == "" {
			kept++
			continue
		}
		claims := slices.DeleteFunc(s.claims, func(c Claim) bool { return c.Deleting })
		if len(claims) > 0 {
			steps = append(steps, DeleteClaims{Pool: p.Key.Name, ID: s.id, Claims: claims, Policy: policy})
		}
	}
	return steps
}

// givesUp returns the field of the policy that gives up the claims of an identity while that many later ones are kept. Claims of
// one identity may say different reasons, if two processes marked them: then the policy must give up all of them.
func (p *poolState) givesUp(s spent, kept int) ClaimRule {
	policy := &p.Object.Claim
	isReplaced := func(c Claim) bool { return c.Because != reason.ScaledDown }
	isKept := func(c Claim) bool {
		keepsScaled := isSurplus(c.Because) || c.Because == reason.HandoverUnneeded
		return lostInHandover(c) || keepsScaled && !policy.DeleteWhenScaled || isReplaced(c) && !policy.DeleteWhenReplaced
	}
	isNeeded := func(c Claim) bool { return isHealth(c.Because) } // it says when the next identity may be given up
	atOnce := WhenScaled
	if slices.ContainsFunc(s.claims, isReplaced) {
		atOnce = WhenReplaced
	}
	switch {
	case slices.ContainsFunc(s.claims, isNeeded) && p.Now.Sub(s.ended) < attemptsCountFor:
		return ""
	case !slices.ContainsFunc(s.claims, isKept):
		return atOnce
	case policy.DeleteAfter > 0 && !p.Now.Before(s.ended.Add(policy.DeleteAfter)):
		return RetiredTTLSeconds
	case slices.ContainsFunc(s.claims, lostInHandover):
		return ""
	case policy.Limit != nil && kept >= *policy.Limit:
		return RetiredLimit
	}
	return ""
}

// lostInHandover reports whether the identity of a claim has ended because its hand-over was not recorded any more. The claim
// was to stay, so only its age ends it.
func lostInHandover(c Claim) bool { return c.Because == reason.IdentityLost && c.From != "" }

// ownership makes the claims belong to the object exactly if Kubernetes is to delete them with it. It never is to delete those
// of an identity of which a person keeps one.
func (p *poolState) ownership() []plan.Action {
	kept := map[ID]bool{}
	for _, c := range p.Claims {
		kept[c.ID] = kept[c.ID] || c.Keep && c.Pool == p.Object.UID
	}
	var steps []plan.Action
	for _, owned := range []bool{true, false} {
		wrong := OwnClaims{Pool: p.Key.Name, Owned: owned}
		for _, c := range p.Claims {
			if wanted := p.Object.Claim.DeleteWithObject && !kept[c.ID]; c.Pool == p.Object.UID && !c.Deleting && wanted == owned && c.Owned != owned {
				wrong.Claims = append(wrong.Claims, c)
			}
		}
		if len(wrong.Claims) > 0 {
			steps = append(steps, wrong)
		}
	}
	return steps
}
