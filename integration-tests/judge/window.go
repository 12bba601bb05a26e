package judge

import (
	"slices"
	"strings"
	"time"
)

// Window is a time in which operators could not know in time what others did. What
// happened in it had to be known when it was over, or Late after it happened where
// that is not zero, and in both cases after the time of grace.
type Window struct {
	From, To time.Time
	Late     time.Duration

	// Live: what was read live is as old, since who had read it was stopped or its
	// write was on its way. Otherwise only what rests on caches is excused.
	Live bool

	// Agent is part of the name by which the operator says who it is that could not
	// know. Empty, it was every operator.
	Agent string
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

// binds tells whether the window was somebody's. Whose a deed was may not be known.
func (w Window) binds(agent string) bool {
	return agent == "" || strings.Contains(agent, w.Agent)
}

// knowledge is what may be expected of an operator in a deed.
type knowledge struct {
	now    time.Time // of the deed
	agent  string    // who did it; empty: not known
	looked time.Time // when it took the group's hold, and had looked live for that; zero: not known
}

// knew tells whether an operator had to know of what happened at a time.
func (c *court) knew(k knowledge, happened time.Time) bool {
	if !k.looked.IsZero() && k.looked.After(c.known(k.agent, happened, true)) {
		return true
	}
	return k.now.After(c.known(k.agent, happened, false))
}

// excused tells whether there is something that happened before the usual grace and
// need not have been known.
func (c *court) excused(k knowledge) bool {
	return slices.ContainsFunc(c.Deaf, func(w Window) bool {
		return w.binds(k.agent) && !k.now.Before(w.From) && k.now.Before(w.To.Add(max(w.Late, c.Grace)))
	})
}

// known is when an operator had to know of what happened at a time, by a live look or
// by its caches.
func (c *court) known(agent string, happened time.Time, live bool) time.Time {
	known := happened.Add(c.Grace)
	for _, w := range c.Deaf {
		if !w.binds(agent) || live && !w.Live {
			continue
		}
		if by := w.known(happened, c.Grace); by.After(known) {
			known = by
		}
	}
	return known
}
