package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/wrongclock"
)

// clocks are how wrong an operator's are, in all of its processes.
type clocks struct {
	offset, jump time.Duration // of the wall clock
	jumpAfter    time.Duration // the trial's beginning
	wall, steady int           // paces, in thousandths
}

// Bounds of clocks. Certificates are an hour old, and nobody believes in one from the
// future; a steady clock that is much faster would end grants too early (ADR 15).
const (
	farthest                   = 25 * time.Minute
	slowestWall, fastestWall   = 500, 2000
	slowestTimer, fastestTimer = 500, 2000
)

// clocksWrong lets an operator live by wrong clocks, each of both by clocks of its own.
func clocksWrong(random *rand.Rand) fault {
	var each [2]clocks
	for i := range each {
		each[i] = clocks{
			offset: between(random, -farthest, farthest).Round(time.Second),
			wall:   slowestWall + random.IntN(fastestWall-slowestWall+1),
			steady: slowestTimer + random.IntN(fastestTimer-slowestTimer+1),
		}
		if random.IntN(2) == 0 {
			each[i].jump = between(random, -farthest, farthest).Round(time.Second)
			each[i].jumpAfter = between(random, 10*time.Second, 25*time.Second)
		}
	}
	f := fault{replica: anyReplica(random), clocks: &each, once: "clocks"}
	f.words = fmt.Sprintf("%s clocks are wrong:", whose(f.replica))
	for i, c := range each {
		if f.befalls(i) {
			f.words += " " + c.String()
		}
	}
	return f
}

// clockJumped reports whether the clock of one of its processes jumped while it worked.
func (r *replica) clockJumped() bool {
	for _, f := range r.trial.plan.faults {
		if f.clocks == nil || !f.befalls(r.number) || f.clocks[r.number].jump == 0 {
			continue
		}
		at := r.trial.began.Add(f.clocks[r.number].jumpAfter)
		worked := func(l life) bool { return l.bent && l.from.Before(at) && (l.to.IsZero() || l.to.After(at)) }
		if at.After(r.trial.played) && at.Before(r.trial.over) && slices.ContainsFunc(r.processes(), worked) {
			return true
		}
	}
	return false
}

// String says it for people.
func (c clocks) String() string {
	text := fmt.Sprintf("(by %s, at %d%%, timers at %d%%", c.offset, c.wall/10, c.steady/10)
	if c.jump != 0 {
		text += fmt.Sprintf(", %s more after %s", c.jump, c.jumpAfter)
	}
	return text + ")"
}

// since is what a process needs to know of them.
func (c clocks) since(began time.Time) wrongclock.Clock {
	return wrongclock.Clock{
		From: began, Offset: c.offset, JumpAt: began.Add(c.jumpAfter), Jump: c.jump, WallPace: c.wall, SteadyPace: c.steady,
	}
}
