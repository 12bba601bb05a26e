package judge

import (
	"strings"
	"time"
)

// Window is a period in which the caches of operators could not receive changes by others in time. An
// operator must know of a change in the window when the window ends or, if Delay is set, Delay after
// the change; Rules.Grace is added to both. A live read is never excused.
type Window struct {
	From, To time.Time
	Delay    time.Duration

	// Agent is a part of the user agent of the operator whose caches were stale; empty: every
	// operator.
	Agent string

	// Resource is the resource of the stale caches, as pods or statefulsets; empty: all of them.
	Resource string
}

// resource is a resource that caches contain.
type resource string

const (
	pods                   resource = "pods"
	statefulSets           resource = "statefulsets"
	statefulClusters       resource = "statefulclusters"
	persistentVolumeClaims resource = "persistentvolumeclaims"
	anything               resource = ""
)

// covers reports whether a window is about a resource.
func (w Window) covers(of resource) bool {
	return w.Resource == "" || of == anything || w.Resource == string(of)
}

// knownBy returns when an operator must know of a change because of this window, or the zero time if
// the window excuses nothing.
func (w Window) knownBy(happened time.Time, grace time.Duration) time.Time {
	switch {
	case happened.Before(w.From.Add(-grace)) || happened.After(w.To):
		return time.Time{}
	case w.Delay > 0:
		return happened.Add(w.Delay + grace)
	}
	return w.To.Add(grace)
}

// isBy reports whether the user agent contains part, or is unknown.
func isBy(part, agent string) bool { return agent == "" || strings.Contains(agent, part) }

// knowledge is what an operator must know when it disrupts a pod.
type knowledge struct {
	now        time.Time // of the disruption
	decidedAt  time.Time // the earliest time at which the operator can have read the state
	agent      string    // user agent; empty: unknown
	group      string    // the group of the disruption
	liveReadAt time.Time // when the operator made the live read before the group's hold; zero: unknown
}

// mustKnow reports whether an operator must know of a change of a resource.
func (v *verifier) mustKnow(k knowledge, happened time.Time, to resource) bool {
	return k.liveReadAt.After(happened.Add(v.Grace)) || k.decidedAt.After(v.knownAt(k.agent, happened, to))
}

// knownAt returns when the caches of an operator must contain a change.
func (v *verifier) knownAt(agent string, happened time.Time, to resource) time.Time {
	known := happened.Add(v.Grace)
	for _, w := range v.StaleCaches {
		if by := w.knownBy(happened, v.Grace); isBy(w.Agent, agent) && w.covers(to) && by.After(known) {
			known = by
		}
	}
	return known
}

// grace returns the maximum age of a change that the operator was allowed not to know.
func (v *verifier) grace(k knowledge) time.Duration {
	since := k.decidedAt.Add(-v.Grace)
	for _, w := range v.StaleCaches {
		begins := w.From.Add(-v.Grace)
		if late := k.decidedAt.Add(-w.Delay - v.Grace); w.Delay > 0 && late.After(begins) {
			begins = late
		}
		if begins.Before(since) && !k.decidedAt.After(v.knownAt(k.agent, begins, anything)) {
			since = begins
		}
	}
	if live := k.liveReadAt.Add(-v.Grace); !k.liveReadAt.IsZero() && live.After(since) {
		since = live
	}
	return k.now.Sub(since)
}
