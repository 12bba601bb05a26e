package report

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// client-go keeps every Event that it is given in memory for minutes, and writes them at a limited
// rate. A rollout of a hundred pods fits into the burst.
const (
	perSecond, burst                   = 20, 1000
	perNamespaceSecond, namespaceBurst = 5, 200

	// Part of the burst is reserved for namespaces that write few Events.
	reserved                   = 200
	perQuietSecond, quietBurst = 0.05, 5
	forgetAfter                = time.Minute
)

// eventExcess is the result of an Event that was dropped because of the limits.
const eventExcess = "excess"

// eventLimiter limits how many Events are written, in total and for each namespace: a tenant can
// cause a new Event with every write to an annotation.
type eventLimiter struct {
	mu         sync.Mutex
	total      *rate.Limiter
	namespaces map[string]*namespaceLimiter // those with recent Events
	swept      time.Time
}

// namespaceLimiter has the limit of a namespace, and the rate up to which it may use the reserve.
type namespaceLimiter struct{ most, quiet *rate.Limiter }

func newEventLimiter() *eventLimiter {
	return &eventLimiter{total: rate.NewLimiter(perSecond, burst), namespaces: map[string]*namespaceLimiter{}, swept: time.Now()}
}

// allow reports whether an Event of a namespace may be written. Refused Events count for the
// namespace, too, so that a namespace with many Events never counts as quiet.
func (l *eventLimiter) allow(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	own := l.namespaces[namespace]
	if own == nil {
		own = &namespaceLimiter{rate.NewLimiter(perNamespaceSecond, namespaceBurst), rate.NewLimiter(perQuietSecond, quietBurst)}
		l.namespaces[namespace] = own
	}
	available := l.total.Tokens()
	if !own.quiet.Allow() {
		available -= reserved
	}
	return own.most.Allow() && available >= 1 && l.total.Allow()
}

// sweep drops namespaces whose limits are full again.
func (l *eventLimiter) sweep() {
	if time.Since(l.swept) < forgetAfter {
		return
	}
	l.swept = time.Now()
	for namespace, own := range l.namespaces {
		if own.most.Tokens() >= namespaceBurst && own.quiet.Tokens() >= quietBurst {
			delete(l.namespaces, namespace)
		}
	}
}
