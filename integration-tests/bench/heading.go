package main

import (
	"fmt"
	"strings"
)

// spreadMeaning is what cells leave unsaid.
const spreadMeaning = "in brackets behind a time is its ratio to the floor's, where both take turns: the median of runs or turns, the least and the largest; where two times stand, two brackets"

// heading says in Markdown what figures are measured on, which is the same for all runs,
// and then when, at which commit and how those of this run were.
func (c conditions) heading() string {
	var b strings.Builder
	line := func(what, is string) { fmt.Fprintf(&b, "| %s | %s |\n", what, is) }
	b.WriteString("| | |\n|---|---|\n")
	line("machine", c.machine)
	line("versions", strings.Join(c.versions, ", "))
	if len(c.tuning) == 0 {
		line("on it at the same time", "the operator, and the bench, which plays the API server")
	} else {
		line("on it at the same time", "etcd, one API server, controllers, simulated kubelet, one operator for each column, and the bench itself")
	}
	for _, t := range c.tuning {
		line(t.who, t.meaning())
	}
	line("spread", spreadMeaning)
	fmt.Fprintf(&b, "\nMeasured on %s at %s, load average %s before, with `%s`:\n\n", c.on, c.commit, c.load, c.command)
	return b.String()
}

// meaning says what somebody's flags are about.
func (t tuned) meaning() string {
	switch {
	case t.flags == unsynced:
		return "never waits for the disk (`" + unsynced + "`): writes are faster than on a usual cluster"
	case t.flags == "" && t.who == "etcd":
		return "waits for the disk with every write, as usual"
	case t.flags == "":
		return "as usual"
	}
	return "more at a time than usual (`" + t.flags + "`)"
}
