package main

import (
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// grace says at how much grace a plan was judged: how many of the pods that served and
// were taken down, for how long at most something was not held against whoever did it,
// and what would be objected to if nothing ever were.
type grace struct {
	Longer  int     `json:"longer"`  // at more than a second
	Much    int     `json:"much"`    // of these at more than three
	Longest float64 `json:"longest"` // seconds
	Needed  int     `json:"needed"`  // objections at a second, in all
}

// much is the grace from which on pods are counted apart.
const much = 3 * time.Second

func graceOf(takedowns []judge.Disruption, atOneSecond []judge.Violation) grace {
	g := grace{Needed: len(atOneSecond)}
	longest := judge.DefaultGrace
	for _, d := range takedowns {
		if !d.WasServing {
			continue
		}
		longest = max(longest, d.Grace)
		if d.Grace > judge.DefaultGrace {
			g.Longer++
		}
		if d.Grace > much {
			g.Much++
		}
	}
	g.Longest = longest.Round(100 * time.Millisecond).Seconds()
	return g
}
