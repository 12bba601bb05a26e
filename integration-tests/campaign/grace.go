package main

import (
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// grace is the grace with which a plan was verified: for how many disruptions of ready pods, and for
// how long at most, operators were excused, and how many violations there would be without.
type grace struct {
	Longer  int     `json:"longer"`  // with more than a second
	Much    int     `json:"much"`    // with more than three seconds
	Longest float64 `json:"longest"` // seconds
	Needed  int     `json:"needed"`  // violations with a second, in all
}

// largeGrace is the grace above which disruptions are counted separately.
const largeGrace = 3 * time.Second

func graceOf(disruptions []judge.Disruption, atOneSecond []judge.Violation) grace {
	g := grace{Needed: len(atOneSecond)}
	longest := judge.DefaultGrace
	for _, d := range disruptions {
		if !d.WasServing {
			continue
		}
		longest = max(longest, d.Grace)
		if d.Grace > judge.DefaultGrace {
			g.Longer++
		}
		if d.Grace > largeGrace {
			g.Much++
		}
	}
	g.Longest = longest.Round(100 * time.Millisecond).Seconds()
	return g
}
