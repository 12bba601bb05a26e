package walk

import "time"

// epoch is the time at which every schedule begins.
var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// clock has the clocks of a process. The wall clock has an offset and a rate of its own, and is
// set again when its error becomes too large. The steady clock measures durations;
// only its rate is wrong.
type clock struct {
	setAt  instant // when the wall clock was last set
	offset time.Duration
	rate   float64
	steady float64
}

// The limits of the rate of a steady clock. With a much faster clock, a process would
// conclude that no API server can carry out a granted eviction any more (plan.GrantLimit),
// while the API server still processes it (requestLimit).
const (
	minClockRate = 0.5
	maxClockRate = 2
)

// maxClockError is the maximum error of a wall clock.
const maxClockError = 10 * time.Minute

// wall returns the time that the wall clock shows.
func (c clock) wall(now instant) time.Time {
	return epoch.Add(c.setAt + c.offset + time.Duration(c.rate*float64(now-c.setAt)))
}

// trueDuration returns the true duration in which d passes on the steady clock.
func (c clock) trueDuration(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.steady)
}

// steadyDuration returns which duration the steady clock shows while a true duration passes.
func (c clock) steadyDuration(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.steady)
}

// correctionDue returns when a wall clock reaches its maximum error; false if it never does.
func (c clock) correctionDue() (instant, bool) {
	left := maxClockError - c.offset
	drift := c.rate - 1
	if drift < 0 {
		left, drift = maxClockError+c.offset, -drift
	}
	if drift < 0.001 {
		return 0, false
	}
	return c.setAt + time.Duration(float64(left)/drift), true
}

// initClock gives a process clocks of its own, unless the clocks of the schedule are true.
func (w *walk) initClock(p *process) {
	switch {
	case w.schedule.Deviations.FastClocks:
		p.clock.steady = 3
	case !w.schedule.TrueClocks:
		p.clock.steady = minClockRate + (maxClockRate-minClockRate)*w.chance.Float64()
		rate := []float64{0.5, 1, 2, 0.5 + 1.5*w.chance.Float64()}[w.chance.IntN(4)]
		w.setClock(p, w.between(-maxClockError/2, maxClockError/2), rate)
	}
}

// setClock sets a wall clock, and sets it again when its error becomes too large.
func (w *walk) setClock(p *process, offset time.Duration, rate float64) {
	p.clock.setAt, p.clock.offset, p.clock.rate = w.now, offset, rate
	current := p.clock
	if at, ever := current.correctionDue(); ever && at > w.now {
		w.agenda.add(at, func() {
			if p.clock == current && w.now < w.schedule.FaultsEnd {
				w.setClock(p, w.between(-maxClockError/2, maxClockError/2), rate)
			}
		})
	}
}

// jumpClock sets a wall clock to another error.
func (w *walk) jumpClock(p *process, value int) {
	if w.schedule.TrueClocks {
		return
	}
	w.report.Faults[clocksJump]++
	w.setClock(p, time.Duration(value-500)*maxClockError/500, p.clock.rate)
}
