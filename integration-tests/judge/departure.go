package judge

import (
	"fmt"
	"slices"
	"time"
)

// longAgo is longer than the judge hears late of a pod that leaves, whatever becomes of
// API servers.
const longAgo = 30 * time.Second

// tryDeparture judges how a pod began to leave, and tells what it was.
func (c *court) tryDeparture(f Fact) takenDown {
	asked, known := c.taker(f)
	if !known {
		c.unexplained = append(c.unexplained, fmt.Sprintf("%s: nobody asked for pod %s to leave, which was seen to at version %d", c.namespace, f.Pod.Name, f.Version))
		return takenDown{}
	}
	group := c.groupOf(f.Pod)
	_, byOperator := c.operator(asked.User)
	switch {
	case asked.evictsPod() && c.Evicting:
		if c.tryEviction(f, asked, group) {
			return takenDown{evicted, group}
		}
	case asked.deletesPod() && byOperator:
		c.tryTakedown(f, asked, group)
		return takenDown{deleted, group}
	}
	return takenDown{}
}

// taker returns the request by which a pod began to leave: the one that required
// the very state it was in, or else the first that may have been it, of those that
// succeeded or, where none did, of those of which that is not known. The first that
// succeeded is the one that ended first: an eviction may wait for its admission until
// somebody has deleted the pod. What kubelets ask for at the end comes last, but for what
// had succeeded long before: that was about another pod, whatever name it gave.
func (c *court) taker(f Fact) (Request, bool) {
	ranks := [4][]Request{}
	for _, r := range c.departures[f.Pod.Name] {
		switch {
		case !c.meant(r, f):
		case r.deletesPod() && r.succeeded() && r.conditional():
			return r, true
		case r.AtOnce:
			ranks[2] = append(ranks[2], r)
		case r.succeeded() && f.At.Sub(r.Ended) > longAgo:
			ranks[3] = append(ranks[3], r)
		case r.succeeded():
			ranks[0] = append(ranks[0], r)
		case c.inTime(r, f):
			ranks[1] = append(ranks[1], r)
		}
	}
	for _, suspects := range ranks {
		if len(suspects) > 0 {
			return slices.MinFunc(suspects, earlier), true
		}
	}
	return Request{}, false
}

// earlier compares requests by when they ended or, unless both did and succeeded, came.
func earlier(a, b Request) int {
	if a.succeeded() && b.succeeded() {
		return a.Ended.Compare(b.Ended)
	}
	return a.At.Compare(b.At)
}

// meant reports whether a request can have been about this very pod, and not one of the
// same name before or after it, nor found it leaving.
func (c *court) meant(r Request, f Fact) bool {
	switch {
	case r.At.After(f.At), r.RequiredVersion >= f.Version:
		return false
	case r.deletesPod() && r.UID != "":
		return r.UID == f.Pod.UID || outlived(r, f)
	case r.RequiredUID != "":
		return r.RequiredUID == f.Pod.UID
	}
	return r.endless() || r.Ended.Sub(c.seen[f.Pod.UID]) >= -hearing
}

// outlived reports whether a deletion at once that named no pod by its UID was still under
// way when the pod left that had taken the place of the one it was answered with: the
// API server then deletes what has the name.
func outlived(r Request, f Fact) bool {
	return r.AtOnce && r.RequiredUID == "" && f.At.Sub(r.Ended) <= hearing
}

// inTime reports whether a request that has failed, as far as its answer goes, was under
// way when the pod began to leave. An API server goes on with what it has not answered
// in time, and with what its client has given up.
func (c *court) inTime(r Request, f Fact) bool {
	return r.endless() || r.Code == 499 || r.Code == 504 || f.At.Sub(r.Ended) <= hearing
}
