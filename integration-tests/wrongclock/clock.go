// Package wrongclock gives a program wrong clocks, for all of its libraries. The program is built
// with another package time, and an environment variable sets how wrong its clocks are.
//
//	Overlay ──► go build -overlay=… ──► program ◄── LOCKSTEP_CLOCK=… (Clock.Variable)
//
// Both clocks of a process can be wrong independently: the wall clock, which returns dates, and the
// monotonic clock, which timers and durations use. The deadline of a connection depends on both, so
// it may come too early or too late.
package wrongclock

import (
	"fmt"
	"time"
)

// Clock describes how wrong the clocks of a process are. Paces are in thousandths of the true one,
// and above 0.
type Clock struct {
	From       time.Time     // when the wall clock was right except for the offset
	Offset     time.Duration // of the wall clock
	JumpAt     time.Time     // in true time
	Jump       time.Duration // of the wall clock
	WallPace   int
	SteadyPace int
}

// Variable returns the environment variable of the program.
func (c Clock) Variable() string {
	return fmt.Sprintf("LOCKSTEP_CLOCK=%d %d %d %d %d %d",
		c.From.UnixNano(), c.Offset.Nanoseconds(), c.JumpAt.UnixNano(), c.Jump.Nanoseconds(), c.WallPace, c.SteadyPace)
}
