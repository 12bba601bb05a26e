package admission

import (
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// A count of a group stands for a multiple of what it took, so that counting takes a
// small part of a core whatever is asked. Who is refused by one may hear of what
// happened since at the next attempt; what is granted is counted anew.
const (
	standsTimes = 40
	standsLeast = 25 * time.Millisecond
	standsMost  = 250 * time.Millisecond
)

// outlooks lets many requests that are refused at a time be answered from one count
// of their group. The zero outlooks are ready for use.
type outlooks struct {
	mu     sync.Mutex
	groups map[plan.Key]*outlook
	swept  time.Time
}

type outlook struct {
	counted chan struct{} // closed once it was
	is      plan.Outlook
	until   time.Time
}

// of returns the outlook of a group. Of those who ask when it stands no more, the first
// one counts; the others hear what was counted before, or wait where nothing was.
func (o *outlooks) of(key plan.Key, count func() plan.Outlook) plan.Outlook {
	began := time.Now()
	o.mu.Lock()
	known := o.groups[key]
	if known != nil && began.Before(known.until) {
		o.mu.Unlock()
		<-known.counted
		return known.is
	}
	next := &outlook{counted: make(chan struct{})}
	defer close(next.counted)
	if known == nil {
		o.sweep(began)
		known = next
		o.groups[key] = known
	}
	known.until = began.Add(standsMost)
	o.mu.Unlock()
	next.is = count()
	o.replace(key, known, next, began)
	return next.is
}

// replace has what was counted stand from now on, unless it was forgotten meanwhile.
func (o *outlooks) replace(key plan.Key, known, next *outlook, began time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.groups[key] != known {
		return
	}
	now := time.Now()
	next.until = now.Add(min(max(standsTimes*now.Sub(began), standsLeast), standsMost))
	o.groups[key] = next
}

// sweep forgets those that nobody has asked for of late.
func (o *outlooks) sweep(now time.Time) {
	switch {
	case o.groups == nil:
		o.groups = map[plan.Key]*outlook{}
	case now.Before(o.swept.Add(time.Second)):
		return
	}
	o.swept = now
	for key, known := range o.groups {
		if !now.Before(known.until) {
			delete(o.groups, key)
		}
	}
}

// forget lets the next one who asks count anew.
func (o *outlooks) forget(key plan.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.groups, key)
}
