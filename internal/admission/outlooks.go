package admission

import (
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// fresh is for how long a group is not counted anew to refuse who asks meanwhile.
// What is granted is counted anew whatever the outlook says.
const fresh = 25 * time.Millisecond

// outlooks lets many requests that are refused at a time be answered from one count
// of their group. The zero outlooks are ready for use.
type outlooks struct {
	mu     sync.Mutex
	groups map[plan.Key]*outlook
	swept  time.Time
}

type outlook struct {
	count func() plan.Outlook
	until time.Time
}

// of returns the outlook of a group, which is counted once for all who ask meanwhile.
func (o *outlooks) of(key plan.Key, count func() plan.Outlook, now time.Time) plan.Outlook {
	o.mu.Lock()
	known := o.groups[key]
	if known == nil || !now.Before(known.until) {
		known = &outlook{count: sync.OnceValue(count), until: now.Add(fresh)}
		o.sweep(now)
		o.groups[key] = known
	}
	o.mu.Unlock()
	return known.count()
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
