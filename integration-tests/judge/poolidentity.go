package judge

import "slices"

// mayBeHandedOver reports whether the claims of an identity are marked for the end of a pod. Then the record of its eviction
// is that of a hand-over as well.
func (p *pools) mayBeHandedOver(uid string) bool {
	for _, c := range p.claims {
		if c.From == uid && !c.Retired && !c.Ending {
			return true
		}
	}
	return false
}

// verifyIdentity verifies that a new pod has an identity of its own, or one that was handed over.
func (v *verifier) verifyIdentity(p *Pod) {
	former, again := v.pools.podOf[identityOf(p)]
	if again && !p.Deleted {
		open := slices.ContainsFunc(v.pools.intents[p.Labels[poolLabel]], func(i PoolIntent) bool { return i.Pod == p.Name && v.pools.handedOver[i.UID] })
		if !v.pools.handedOver[former] && !open {
			v.report(ofPools, nil, "%s was created again, and no Lease has recorded that its identity is handed over", p.Name)
		}
	}
	for _, other := range v.sortedMembers(p.Labels[poolLabel]) {
		switch shared := sharedClaim(p, other.Pod); {
		case other.Deleted || p.Deleted:
		case identityOf(other.Pod) == identityOf(p) && other.Name == p.Name:
			v.report(ofPools, nil, "%s was created again while its former pod existed", p.Name)
		case identityOf(other.Pod) == identityOf(p):
			v.report(ofPools, nil, "%s was created while %s of the same identity existed", p.Name, other.Name)
		case shared != "":
			v.report(ofPools, nil, "%s mounts claim %s, as %s does", p.Name, shared, other.Name)
		}
	}
}

// sharedClaim returns a claim that both pods mount, or an empty string.
func sharedClaim(p, other *Pod) string {
	for _, c := range p.Claims {
		if slices.Contains(other.Claims, c) {
			return c
		}
	}
	return ""
}
