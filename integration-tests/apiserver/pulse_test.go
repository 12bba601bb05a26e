package apiserver_test

import (
	"sync"
	"time"
)

// beat is the interval of the pulse.
const beat = 100 * time.Millisecond

// pulse records when the machine stalled, as far as this process can observe it: a beat took at
// least twice its interval.
type pulse struct {
	mu     sync.Mutex
	paused []stillness
}

type stillness struct{ from, to time.Time }

// thePulse runs from the first scene on.
var thePulse = sync.OnceValue(func() *pulse {
	p := &pulse{}
	go func() {
		for from := time.Now(); ; from = time.Now() {
			time.Sleep(beat)
			p.felt(from, time.Now())
		}
	}()
	return p
})

func (p *pulse) felt(from, to time.Time) {
	if to.Sub(from) < 2*beat {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = append(p.paused, stillness{from, to})
}

// stalled returns how long the machine stalled between two times.
func (p *pulse) stalled(from, to time.Time) (still time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.paused {
		begin, end := latest(from, s.from), to
		if s.to.Before(to) {
			end = s.to
		}
		still += max(0, end.Sub(begin))
	}
	return still
}
