package judge

import (
	"strings"
	"time"
)

// Delay is a time in which a request of an operator was on its way to the API server: it
// was held back, or its client was told to send it again. The judge itself adds requests
// for which the API server needed longer than the time of grace. What its client did next had
// been decided before. It excuses nothing else.
type Delay struct {
	Of    Request // Verb, Resource, Name and Agent (or a part of it) count; without a verb the operator itself stood still
	Group string  // that the request was about; empty: not known

	From, To time.Time // when it was sent first, and when it arrived at last
	GivenUp  time.Time // when nobody waited for the answer any more
}

// patience is after how long operators give a request up.
const patience = 10 * time.Second

// slow is the time that the API server itself needed for a request, if somebody goes on
// after it.
func (r Request) slow() Delay {
	if r.Writes() && !r.succeeded() || r.Verb == "watch" || r.Ended.IsZero() || r.Name == LeaderLease {
		return Delay{}
	}
	d := Delay{Of: r, From: r.At, To: r.Ended, GivenUp: r.At.Add(patience)}
	if group, is := strings.CutPrefix(r.Name, "lockstep-group-"); is && r.Resource == "leases" {
		d.Group = group
	}
	return d
}

// stood reports whether it was not a request but the operator itself that was late.
func (d Delay) stood() bool { return d.Of.Verb == "" }

// refused reports whether this is a write that the API server refused, as late as it came:
// nobody goes on after that.
func (d Delay) refused(requests []Request) bool {
	found := false
	for _, r := range requests {
		same := r.Verb == d.Of.Verb && r.Resource == d.Of.Resource && r.Name == d.Of.Name && binds(d.Of.Agent, r.Agent)
		if !same || !r.Writes() || !r.over() || r.At.Sub(d.To).Abs() > hearing {
			continue
		}
		if r.succeeded() {
			return false
		}
		found = true
	}
	return found
}

// link reports whether a deed of its kind waits for such a request.
type link func(Delay) bool

// The links of the way from a look to a deed. Nobody does anything after a request that
// was given up but decide anew.
func ofHold(d Delay) bool {
	return d.Of.Writes() && d.Of.Resource == "leases" && !d.To.After(d.GivenUp)
}

// ofHoldAtAll is ofHold for who asks when the Lease was decided on, whoever waited.
func ofHoldAtAll(d Delay) bool { return d.Of.Writes() && d.Of.Resource == "leases" }

// beforeHold is what is written first: pods are touched whose deletion is not wanted any more.
func beforeHold(d Delay) bool {
	return d.Of.Writes() && !d.Of.deletesPod() && d.Of.Resource == "pods" && !d.To.After(d.GivenUp)
}

func ofLook(d Delay) bool { return !d.Of.Writes() && !d.To.After(d.GivenUp) }

// itself is the request of the deed, which arrives whoever waits for it.
func itself(verb, resource, name string) link {
	return func(d Delay) bool { return d.Of.Verb == verb && d.Of.Resource == resource && d.Of.Name == name }
}

// decided is when all that a deed in a group rests on had been read, at the earliest. The
// way to it is told from the deed on: of each link there is one at most, and one link
// begins within the time of grace after the one before it was over.
func (c *court) decided(deed time.Time, agent, group string, way ...link) time.Time {
	at := deed
	for _, is := range way {
		at = c.before(at, agent, group, func(d Delay) bool { return d.stood() })
		at = c.before(at, agent, group, func(d Delay) bool { return !d.stood() && is(d) && !d.To.After(at) })
	}
	return c.before(at, agent, group, func(d Delay) bool { return d.stood() })
}

// before is when the longest of these delays began that kept up what came then.
func (c *court) before(at time.Time, agent, group string, is func(Delay) bool) time.Time {
	earliest := at
	for _, d := range c.Delays {
		about := d.Group == "" || d.Group == group
		if about && binds(d.Of.Agent, agent) && is(d) && d.From.Before(earliest) && !d.To.Before(at.Add(-c.Grace)) {
			earliest = d.From
		}
	}
	return earliest
}
