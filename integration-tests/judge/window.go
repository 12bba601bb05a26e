package judge

import (
	"strings"
	"time"
)

// Window is a time in which caches of operators could not know in time what others did.
// What happened in it had to be known when it was over, or Late after it happened where
// that is not zero, and in both cases after the time of grace. What was read live is
// excused by none.
type Window struct {
	From, To time.Time
	Late     time.Duration

	// Agent is part of the name by which the operator says who it is that could not
	// know. Empty, it was every operator.
	Agent string

	// Resource is what they could not know of: pods or StatefulSets. Empty, it was both.
	Resource string
}

// resource is a kind of objects that caches hold.
type resource string

const (
	pods         resource = "pods"
	statefulSets resource = "statefulsets"
	anything     resource = ""
)

// about reports whether a window is about a resource.
func (w Window) about(of resource) bool {
	return w.Resource == "" || of == anything || w.Resource == string(of)
}

// known returns when what happened at a time had to be known, as far as this window
// goes; the zero time says that it excuses nothing.
func (w Window) known(happened time.Time, grace time.Duration) time.Time {
	switch {
	case happened.Before(w.From.Add(-grace)) || happened.After(w.To):
		return time.Time{}
	case w.Late > 0:
		return happened.Add(w.Late + grace)
	}
	return w.To.Add(grace)
}

// binds reports whether something was somebody's. Whose a deed was may not be known.
func binds(part, agent string) bool { return agent == "" || strings.Contains(agent, part) }

// knowledge is what may be expected of an operator in a deed.
type knowledge struct {
	now     time.Time // of the deed
	decided time.Time // when what it rests on was read, at the earliest
	agent   string    // who did it; empty: not known
	group   string    // in which it was done
	looked  time.Time // when the group's hold was taken, after a live look; zero: not known
}

// knew reports whether an operator had to know of what happened to a resource at a time.
func (c *court) knew(k knowledge, happened time.Time, to resource) bool {
	return k.looked.After(happened.Add(c.Grace)) || k.decided.After(c.known(k.agent, happened, to))
}

// known is when the caches of an operator had to show what happened at a time.
func (c *court) known(agent string, happened time.Time, to resource) time.Time {
	known := happened.Add(c.Grace)
	for _, w := range c.Deaf {
		if by := w.known(happened, c.Grace); binds(w.Agent, agent) && w.about(to) && by.After(known) {
			known = by
		}
	}
	return known
}

// grace is for how long something may have been so, at most, of which an operator need
// not have known in a deed.
func (c *court) grace(k knowledge) time.Duration {
	since := k.decided.Add(-c.Grace)
	for _, w := range c.Deaf {
		begins := w.From.Add(-c.Grace)
		if late := k.decided.Add(-w.Late - c.Grace); w.Late > 0 && late.After(begins) {
			begins = late
		}
		if begins.Before(since) && !k.decided.After(c.known(k.agent, begins, anything)) {
			since = begins
		}
	}
	if live := k.looked.Add(-c.Grace); !k.looked.IsZero() && live.After(since) {
		since = live
	}
	return k.now.Sub(since)
}
