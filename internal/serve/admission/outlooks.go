package admission

import (
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// A count of a group is valid for a multiple of the time it took, so counting takes a
// small part of a core whatever the number of requests. A refusal may rest on a count
// that is a little too old. A grant needs a fresh count.
const (
	validFactor = 40
	validLeast  = 25 * time.Millisecond
	validMost   = 250 * time.Millisecond
	// staleGrace is how much longer an expired count answers requests while the next one
	// is made.
	staleGrace = validMost
)

// outlooks answer many concurrent requests for a group from one count. The zero value is
// ready to use.
type outlooks struct {
	mu      sync.Mutex
	groups  map[plan.Key]*counts
	started uint64 // number of counts, of all groups
	swept   time.Time
}

// counts are the last count of a group and, during a new count, the next one.
type counts struct{ last, next *groupCount }

type groupCount struct {
	number uint64
	is     outlook
	until  time.Time     // it is valid until then
	over   chan struct{} // closed after the count
}

// of returns an outlook that is good enough for a refusal. If the last count is no longer
// valid, the first caller counts. Other callers get the last count or, if that is too old,
// wait for the next one.
func (o *outlooks) of(key plan.Key, count func() outlook) outlook {
	now := time.Now()
	return o.find(func(c *groupCount) bool { return now.Before(c.until.Add(staleGrace)) }, key, count)
}

// fresh returns an outlook whose count began after the call. All calls during another count
// share one.
func (o *outlooks) fresh(key plan.Key, count func() outlook) outlook {
	o.mu.Lock()
	before := o.started
	o.mu.Unlock()
	return o.find(func(c *groupCount) bool { return c.number > before }, key, count)
}

func (o *outlooks) find(suits func(*groupCount) bool, key plan.Key, count func() outlook) outlook {
	for {
		o.mu.Lock()
		now, known := time.Now(), o.groups[key]
		if known == nil {
			known = &counts{}
		}
		last, next := known.last, known.next
		usable := last != nil && suits(last)
		if next == nil && (!usable || !now.Before(last.until)) {
			next = o.begin(key, known, now)
			o.mu.Unlock()
			return o.count(key, known, next, count)
		}
		o.mu.Unlock()
		if usable {
			return last.is
		}
		<-next.over
		if suits(next) {
			return next.is
		}
	}
}

// begin registers a count of the group, so that other requests wait for it.
func (o *outlooks) begin(key plan.Key, known *counts, now time.Time) *groupCount {
	o.sweep(now)
	o.started++
	known.next = &groupCount{number: o.started, over: make(chan struct{})}
	o.groups[key] = known
	return known.next
}

func (o *outlooks) count(key plan.Key, known *counts, next *groupCount, count func() outlook) outlook {
	began := time.Now()
	defer o.end(key, known, next)
	next.is = count()
	now := time.Now()
	next.until = now.Add(min(max(validFactor*now.Sub(began), validLeast), validMost))
	return next.is
}

// end makes a finished count the last one. A count that panicked has no result.
func (o *outlooks) end(key plan.Key, known *counts, next *groupCount) {
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

// sweep deletes counts that are too old, once a second.
func (o *outlooks) sweep(now time.Time) {
	switch {
	case o.groups == nil:
		o.groups = map[plan.Key]*counts{}
	case now.Before(o.swept.Add(time.Second)):
		return
	}
	o.swept = now
	for key, known := range o.groups {
		if known.next == nil && !now.Before(known.last.until.Add(staleGrace)) {
			delete(o.groups, key)
		}
	}
}

// forget deletes the counts of a group, so that the next request counts again.
func (o *outlooks) forget(key plan.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.groups, key)
}
