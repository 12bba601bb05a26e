package judge

import (
	"strings"
	"time"
)

// Delay is a period in which a request of an operator was on its way to the API server, because a test
// held it back or made the client repeat it. The verifier adds requests that the API server answered
// later than Rules.Grace. The operator decided its next action before the delay. A Delay excuses
// nothing else.
type Delay struct {
	Request Request // Verb, Resource, Name and Agent (or a part of it) identify it; without a verb, the process was stopped
	Group   string  // the group of the request; empty: unknown

	From, To    time.Time // from the first attempt until the last arrival
	AbandonedAt time.Time // when the client stopped waiting
}

// requestTimeout is the timeout of an operator's requests.
const requestTimeout = 10 * time.Second

// serverDelay returns the time that the API server took for a request, if the operator continues after
// the answer.
func (r Request) serverDelay() Delay {
	if r.Writes() && !r.succeeded() || r.Verb == "watch" || r.Ended.IsZero() || r.Name == LeaderLease {
		return Delay{}
	}
	d := Delay{Request: r, From: r.At, To: r.Ended, AbandonedAt: r.At.Add(requestTimeout)}
	if group, is := strings.CutPrefix(r.Name, "lockstep-group-"); is && r.Resource == "leases" {
		d.Group = group
	}
	return d
}

// ofProcess reports whether the operator itself was stopped, instead of one request being delayed.
func (d Delay) ofProcess() bool { return d.Request.Verb == "" }

// wasRefused reports whether the API server refused the delayed write. The operator does not continue
// after a refusal.
func (d Delay) wasRefused(requests []Request) bool {
	found := false
	for _, r := range requests {
		same := r.Verb == d.Request.Verb && r.Resource == d.Request.Resource && r.Name == d.Request.Name && isBy(d.Request.Agent, r.Agent)
		if !same || !r.Writes() || !r.answered() || r.At.Sub(d.To).Abs() > observerDelay {
			continue
		}
		if r.succeeded() {
			return false
		}
		found = true
	}
	return found
}

// delayMatcher reports whether a disruption waits for the delayed request.
type delayMatcher func(Delay) bool

// These matchers describe the requests between a live read and a disruption. After a request that an
// operator abandoned, it decides again.

func isLeaseWrite(d Delay) bool {
	return d.Request.Writes() && d.Request.Resource == "leases" && !d.To.After(d.AbandonedAt)
}

// isLeaseWriteOrAbandoned matches Lease writes even if the client stopped waiting.
func isLeaseWriteOrAbandoned(d Delay) bool {
	return d.Request.Writes() && d.Request.Resource == "leases"
}

// isPodPatch matches the writes that come first: lockstep patches pods whose pending deletion was
// cancelled.
func isPodPatch(d Delay) bool {
	return d.Request.Writes() && !d.Request.deletesPod() && d.Request.Resource == "pods" && !d.To.After(d.AbandonedAt)
}

func isLiveRead(d Delay) bool { return !d.Request.Writes() && !d.To.After(d.AbandonedAt) }

// isRequest matches the request of the disruption itself, which arrives even if the client stopped
// waiting.
func isRequest(verb, resource, name string) delayMatcher {
	return func(d Delay) bool {
		return d.Request.Verb == verb && d.Request.Resource == resource && d.Request.Name == name
	}
}

// decidedAt returns the earliest time at which the operator can have read the state for a disruption.
// It walks backwards from the disruption: each matcher accounts for at most one delay, and consecutive
// delays are at most Rules.Grace apart.
func (v *verifier) decidedAt(at time.Time, agent, group string, matchers ...delayMatcher) time.Time {
	start := at
	for _, matches := range matchers {
		start = v.delayStart(start, agent, group, func(d Delay) bool { return d.ofProcess() })
		start = v.delayStart(start, agent, group, func(d Delay) bool { return !d.ofProcess() && matches(d) && !d.To.After(start) })
	}
	return v.delayStart(start, agent, group, func(d Delay) bool { return d.ofProcess() })
}

// delayStart returns the start of the longest matching delay that ended within Rules.Grace before at.
func (v *verifier) delayStart(at time.Time, agent, group string, matches func(Delay) bool) time.Time {
	earliest := at
	for _, d := range v.Delays {
		about := d.Group == "" || d.Group == group
		if about && isBy(d.Request.Agent, agent) && matches(d) && d.From.Before(earliest) && !d.To.Before(at.Add(-v.Grace)) {
			earliest = d.From
		}
	}
	return earliest
}
