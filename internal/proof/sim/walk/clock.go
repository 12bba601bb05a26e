package walk

import "time"

// epoch is the time at which every schedule begins.
var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// clock has the clocks of a process. The wall clock is ahead or behind, runs at its own
// rate and is corrected when its error is too large. The steady clock measures durations;
// only its rate is wrong.
type clock struct {
	set    instant // when the wall clock was last set
	ahead  time.Duration
	rate   float64
	steady float64
}

// The limits of the rate of a steady clock. With a much faster clock, a process would
// conclude that no API server can carry out a granted eviction any more (plan.GrantLimit),
// while the API server still processes it (requestLimit).
const (
	slowest = 0.5
	fastest = 2
)

// mostWrong is the maximum error of a wall clock before it is set.
const mostWrong = 10 * time.Minute

func (c clock) wall(now instant) time.Time {
	return epoch.Add(c.set + c.ahead + time.Duration(c.rate*float64(now-c.set)))
}

// truly returns the true duration in which d passes on the steady clock.
func (c clock) truly(d time.Duration) time.Duration { return time.Duration(float64(d) / c.steady) }

// tooWrongAt returns when a wall clock must be set; false for never.
func (c clock) tooWrongAt() (instant, bool) {
	left := mostWrong - c.ahead
	drift := c.rate - 1
	if drift < 0 {
		left, drift = mostWrong+c.ahead, -drift
	}
	if drift < 0.001 {
		return 0, false
	}
	return c.set + time.Duration(float64(left)/drift), true
}

// windUp gives a process a clock of its own.
func (w *walk) windUp(p *process) {
	switch {
	case w.schedule.Rules.HastyClocks:
		p.clock.steady = 3
	case !w.schedule.TrueClocks:
		p.clock.steady = slowest + (fastest-slowest)*w.chance.Float64()
		rate := []float64{0.5, 1, 2, 0.5 + 1.5*w.chance.Float64()}[w.chance.IntN(4)]
		w.setClock(p, w.between(-mostWrong/2, mostWrong/2), rate)
	}
}

// setClock sets a wall clock, and sets it again when its error is too large.
func (w *walk) setClock(p *process, ahead time.Duration, rate float64) {
	p.clock.set, p.clock.ahead, p.clock.rate = w.now, ahead, rate
	this := p.clock
	if at, ever := this.tooWrongAt(); ever && at > w.now {
		w.agenda.add(at, func() {
			if p.clock == this && w.now < w.schedule.Ends {
				w.setClock(p, w.between(-mostWrong/2, mostWrong/2), rate)
			}
		})
	}
}

func (w *walk) jump(p *process, value int) {
	if w.schedule.TrueClocks {
		return
	}
	w.report.Faults[clocksJump]++
	w.setClock(p, time.Duration(value-500)*mostWrong/500, p.clock.rate)
}
