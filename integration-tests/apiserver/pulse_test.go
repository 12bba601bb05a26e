package apiserver_test

import (
	"sync"
	"time"
)

// beat is how often the machine's pulse is felt.
const beat = 100 * time.Millisecond

// pulse notes when the machine stood still, as far as this process can tell: a beat took
// twice as long as it should, or longer.
type pulse struct {
	mu     sync.Mutex
	paused []stillness
}

type stillness struct{ from, to time.Time }

// thePulse is felt from the first scene on.
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

// stood returns for how long the machine stood still between two times.
func (p *pulse) stood(from, to time.Time) (still time.Duration) {
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
