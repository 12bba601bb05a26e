package judge

import (
	"slices"
	"time"
)

// applyClaim verifies the deletion of a claim by an operator: its identity has ended and has no pod, and the policy says so.
func (v *verifier) applyClaim(e Event) {
	c := e.Claim
	before := v.pools.claims[c.Name]
	v.pools.claims[c.Name] = c
	if c.Keep && (before == nil || !before.Keep) {
		c.keptSince = e.At
	} else if c.Keep {
		c.keptSince = before.keptSince
	}
	if request, is := v.deletionOfClaim(c.Name); is && before != nil && !before.Ending && c.Ending {
		v.verifyClaimDeletion(before, request)
	}
	v.verifyPlaces(c.Pool, e.At)
}

func (v *verifier) verifyClaimDeletion(c *Claim, request Request) {
	if !c.Retired {
		v.report(ofPools, nil, "claim %s was deleted, and its identity had not ended", c.Name)
	}
	for _, m := range v.sortedMembers(c.Pool) {
		if !m.Deleted && (identityOf(m.Pod).id == c.ID || slices.Contains(m.Claims, c.Name)) {
			v.report(ofPools, nil, "claim %s was deleted while pod %s existed", c.Name, m.Name)
		}
	}
	k := v.poolKnowledge(c.Pool, request.At, request.Agent, isRequest("delete", "persistentvolumeclaims", c.Name), isLiveRead)
	for _, of := range v.pools.claims {
		if of.Pool == c.Pool && of.ID == c.ID && of.Keep && v.mustKnow(k, of.keptSince, persistentVolumeClaims) {
			v.report(ofPools, nil, "claim %s was deleted, and %s is to be kept", c.Name, of.Name)
		}
	}
	states := v.possiblePools(c.Pool, k)
	if len(states) > 0 && !slices.ContainsFunc(states, func(s poolVersion) bool { return v.givesUp(s.Pool, c, request.At) }) {
		v.report(ofPools, nil, "claim %s was deleted against the policy: its identity ended by %s", c.Name, c.Because)
	}
}

// givesUp reports whether a StatefulCluster asks for the deletion of a claim at a time.
func (v *verifier) givesUp(p *Pool, c *Claim, now time.Time) bool {
	scaled := c.Because == scaledDown || c.Because == unneeded
	switch {
	case c.PoolUID != p.UID: // made for an earlier object of the name
		return false
	case c.Because == replicasExceeded && !p.DropsScaled: // it needs both policies
	case scaled && p.DropsScaled, !scaled && p.DropsReplaced:
		return true
	}
	switch {
	case p.RetiredTTL > 0 && !now.Before(c.RetiredAt.Add(p.RetiredTTL)):
		return true
	}
	return v.endedAfter(c) >= p.RetiredLimit
}

// endedAfter counts the other identities that ended at the same time or later and have claims.
func (v *verifier) endedAfter(c *Claim) int {
	later := map[string]bool{}
	for _, other := range v.pools.claims {
		if other.PoolUID == c.PoolUID && other.ID != c.ID && other.Retired && !other.Ending && !other.RetiredAt.Before(c.RetiredAt) {
			later[other.ID] = true
		}
	}
	return len(later)
}

// deletionOfClaim returns the request of an operator that deletes a claim.
func (v *verifier) deletionOfClaim(name string) (Request, bool) {
	i := slices.IndexFunc(v.requests, func(r Request) bool {
		_, byOperator := v.operator(r.User)
		return byOperator && r.Verb == "delete" && r.Resource == "persistentvolumeclaims" && r.Name == name && r.mayHaveSucceeded()
	})
	if i < 0 {
		return Request{}, false
	}
	return v.requests[i], true
}
