package main

import (
	"fmt"
	"strings"
)

// spreadMeaning explains the figures in brackets.
const spreadMeaning = "in brackets behind a time is its ratio to the floor's, where both take turns: the median of runs or turns, the least and the largest; where two times stand, two brackets"

// heading returns the conditions in Markdown: first the conditions of all runs, then the date, the
// commit and the load of this run.
func (c conditions) heading() string {
	var b strings.Builder
	line := func(what, is string) { fmt.Fprintf(&b, "| %s | %s |\n", what, is) }
	b.WriteString("| | |\n|---|---|\n")
	line("machine", c.machine)
	line("versions", strings.Join(c.versions, ", "))
	if len(c.tuning) == 0 {
		line("on it at the same time", "the operator, and the bench with the stand-in for the API server")
	} else {
		line("on it at the same time", "etcd, one API server, controllers, simulated kubelet, one operator for each column, and the bench itself")
	}
	for _, t := range c.tuning {
		line(t.title, t.description())
	}
	line("spread", spreadMeaning)
	fmt.Fprintf(&b, "\nMeasured on %s at %s, load average %s before, with `%s`:\n\n", c.date, c.commit, c.load, c.command)
	return b.String()
}

// description explains the flags of a program.
func (t tuning) description() string {
	switch {
	case t.flags == noSyncFlag:
		return "never waits for the disk (`" + noSyncFlag + "`): writes are faster than on a usual cluster"
	case t.flags == "" && t.title == "etcd":
		return "waits for the disk with every write, as usual"
	case t.flags == "":
		return "as usual"
	}
	return "more at a time than usual (`" + t.flags + "`)"
}
