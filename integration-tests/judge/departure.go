package judge

import "slices"

// tryDeparture judges how a pod began to leave, and tells what it was.
func (c *court) tryDeparture(f Fact) deed {
	asked, known := c.taker(f)
	if !known {
		return notOurs
	}
	_, byOperator := c.operator(asked.User)
	switch {
	case asked.evictsPod() && c.Evicting:
		c.tryEviction(f)
		return evicted
	case asked.deletesPod() && byOperator:
		c.tryTakedown(f, asked)
		return deleted
	}
	return notOurs
}

// taker returns the request by which a pod began to leave: the one that required
// the very state it was in, or else the first that may have been it.
func (c *court) taker(f Fact) (Request, bool) {
	var suspects []Request
	for _, r := range c.deletions[f.Pod.UID] {
		switch {
		case r.RequiredVersion >= f.Version: // it found the pod leaving
		case r.conditional() && r.Code < 300:
			return r, true
		default:
			suspects = append(suspects, r)
		}
	}
	for _, r := range c.evictions[f.Pod.Name] {
		if c.meant(r, f) {
			suspects = append(suspects, r)
		}
	}
	if len(suspects) == 0 {
		return Request{}, false
	}
	return slices.MinFunc(suspects, func(a, b Request) int { return a.At.Compare(b.At) }), true
}

// meant tells whether an eviction can have been about this very pod, and not one
// of the same name before or after it.
func (c *court) meant(r Request, f Fact) bool {
	if r.At.After(f.At) || r.RequiredVersion >= f.Version {
		return false
	}
	if r.RequiredUID != "" {
		return r.RequiredUID == f.Pod.UID
	}
	return r.Ended.Sub(c.seen[f.Pod.UID]) >= -hearing
}
