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
	// heardLonger is for how long one that stands no more is heard while the next one is
	// made.
	heardLonger = standsMost
)

// outlooks let many requests at a time be answered from one count of their group. The
// zero outlooks are ready for use.
type outlooks struct {
	mu     sync.Mutex
	groups map[plan.Key]*outlook
	begun  uint64 // counts, of whatever group
	swept  time.Time
}

// outlook is the last count of a group and, while it is counted anew, the next one.
type outlook struct{ last, next *counted }

type counted struct {
	number uint64
	is     plan.Outlook
	until  time.Time     // it stands
	over   chan struct{} // closed once the count is
}

// of returns an outlook for a refusal. Of those who ask when the last count stands no
// more, the first one counts; the others hear the last one or, where that is too old,
// wait for the next.
func (o *outlooks) of(key plan.Key, count func() plan.Outlook) plan.Outlook {
	now := time.Now()
	return o.suiting(func(c *counted) bool { return now.Before(c.until.Add(heardLonger)) }, key, count)
}

// anew returns an outlook whose count began after it was asked for: one for all who ask
// while another count is made.
func (o *outlooks) anew(key plan.Key, count func() plan.Outlook) plan.Outlook {
	o.mu.Lock()
	asked := o.begun
	o.mu.Unlock()
	return o.suiting(func(c *counted) bool { return c.number > asked }, key, count)
}

func (o *outlooks) suiting(suits func(*counted) bool, key plan.Key, count func() plan.Outlook) plan.Outlook {
	for {
		o.mu.Lock()
		now, known := time.Now(), o.groups[key]
		if known == nil {
			known = &outlook{}
		}
		last, next := known.last, known.next
		heard := last != nil && suits(last)
		if next == nil && (!heard || !now.Before(last.until)) {
			next = o.begin(key, known, now)
			o.mu.Unlock()
			return o.count(key, known, next, count)
		}
		o.mu.Unlock()
		if heard {
			return last.is
		}
		<-next.over
		if suits(next) {
			return next.is
		}
	}
}

// begin has everybody know that the group is counted.
func (o *outlooks) begin(key plan.Key, known *outlook, now time.Time) *counted {
	o.sweep(now)
	o.begun++
	known.next = &counted{number: o.begun, over: make(chan struct{})}
	o.groups[key] = known
	return known.next
}

func (o *outlooks) count(key plan.Key, known *outlook, next *counted, count func() plan.Outlook) plan.Outlook {
	began := time.Now()
	defer o.end(key, known, next)
	next.is = count()
	now := time.Now()
	next.until = now.Add(min(max(standsTimes*now.Sub(began), standsLeast), standsMost))
	return next.is
}

// end has what was counted stand from now on, if counting came to its end.
func (o *outlooks) end(key plan.Key, known *outlook, next *counted) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer close(next.over)
	known.next = nil
	switch {
	case !next.until.IsZero():
		known.last = next
	case known.last == nil && o.groups[key] == known:
		delete(o.groups, key)
	}
}

// sweep forgets, once a second, what nobody hears any more.
func (o *outlooks) sweep(now time.Time) {
	switch {
	case o.groups == nil:
		o.groups = map[plan.Key]*outlook{}
	case now.Before(o.swept.Add(time.Second)):
		return
	}
	o.swept = now
	for key, known := range o.groups {
		if known.next == nil && !now.Before(known.last.until.Add(heardLonger)) {
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
