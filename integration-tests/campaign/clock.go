package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/wrongclock"
)

// clocks are the deviations of an operator's clocks, in all of its processes.
type clocks struct {
	offset, jump         time.Duration // of the wall clock
	jumpAfter            time.Duration // time from the start of the trial to the jump
	wallPace, steadyPace int           // in thousandths
}

// These are the bounds of clocks. Certificates are an hour old, and a client rejects a certificate
// from the future. A much faster monotonic clock would end grants too early (ADR 15).
const (
	maxOffset                  = 25 * time.Minute
	slowestWall, fastestWall   = 500, 2000
	slowestTimer, fastestTimer = 500, 2000
)

// wrongClocks gives operators wrong clocks, which differ if both are affected.
func wrongClocks(random *rand.Rand) fault {
	var clocksOf [2]clocks
	for i := range clocksOf {
		clocksOf[i] = clocks{
			offset:     between(random, -maxOffset, maxOffset).Round(time.Second),
			wallPace:   slowestWall + random.IntN(fastestWall-slowestWall+1),
			steadyPace: slowestTimer + random.IntN(fastestTimer-slowestTimer+1),
		}
		if random.IntN(2) == 0 {
			clocksOf[i].jump = between(random, -maxOffset, maxOffset).Round(time.Second)
			clocksOf[i].jumpAfter = between(random, 10*time.Second, 25*time.Second)
		}
	}
	f := fault{replica: anyReplica(random), clocks: &clocksOf, once: "clocks"}
	f.description = fmt.Sprintf("%s clocks are wrong:", ownerOf(f.replica))
	for i, c := range clocksOf {
		if f.affects(i) {
			f.description += " " + c.String()
		}
	}
	return f
}

// clockJumped reports whether the clock of one of its processes jumped during the steps.
func (r *replica) clockJumped() bool {
	for _, f := range r.trial.plan.faults {
		if f.clocks == nil || !f.affects(r.number) || f.clocks[r.number].jump == 0 {
			continue
		}
		at := r.trial.began.Add(f.clocks[r.number].jumpAfter)
		worked := func(l processRecord) bool {
			return l.wrongClocks && l.from.Before(at) && (l.to.IsZero() || l.to.After(at))
		}
		if at.After(r.trial.stepsBegan) && at.Before(r.trial.stepsEnded) && slices.ContainsFunc(r.processes(), worked) {
			return true
		}
	}
	return false
}

// String describes the clocks.
func (c clocks) String() string {
	text := fmt.Sprintf("(by %s, at %d%%, timers at %d%%", c.offset, c.wallPace/10, c.steadyPace/10)
	if c.jump != 0 {
		text += fmt.Sprintf(", %s more after %s", c.jump, c.jumpAfter)
	}
	return text + ")"
}

// clockAt returns the settings of the wrongclock package.
func (c clocks) clockAt(began time.Time) wrongclock.Clock {
	return wrongclock.Clock{
		From: began, Offset: c.offset, JumpAt: began.Add(c.jumpAfter), Jump: c.jump, WallPace: c.wallPace, SteadyPace: c.steadyPace,
	}
}
