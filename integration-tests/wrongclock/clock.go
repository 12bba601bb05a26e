// Package wrongclock lets a program live by clocks that are wrong, all of it, whatever
// library asks for the time: the program is built with another package time, and an
// environment variable says how wrong its clocks are.
//
//	Overlay ──► go build -overlay=… ──► program ◄── LOCKSTEP_CLOCK=… (Clock.Variable)
//
// Both clocks that a process has can be wrong, each in its own way: the wall clock,
// which tells dates, and the steady one, by which timers go and durations are measured.
// The deadline of a connection is set by both, so it may come too early or too late.
package wrongclock

import (
	"fmt"
	"time"
)

// Clock is how wrong the clocks of a process are. Paces are in thousandths of the
// true one and above 0.
type Clock struct {
	From       time.Time     // when the wall clock was right but for the offset
	Offset     time.Duration // of the wall clock
	JumpAt     time.Time     // in truth
	Jump       time.Duration // of the wall clock
	WallPace   int
	SteadyPace int
}

// Variable is what the program needs in its environment.
func (c Clock) Variable() string {
	return fmt.Sprintf("LOCKSTEP_CLOCK=%d %d %d %d %d %d",
		c.From.UnixNano(), c.Offset.Nanoseconds(), c.JumpAt.UnixNano(), c.Jump.Nanoseconds(), c.WallPace, c.SteadyPace)
}
