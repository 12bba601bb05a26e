package report

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How many Events are written: client-go keeps every one that it is given for minutes,
// in memory, and writes none faster than it may. A rollout of a hundred pods fits in at
// once.
const (
	perSecond, atOnce                   = 20, 1000
	perNamespaceSecond, namespaceAtOnce = 5, 200

	// Of all at once some are reserved for namespaces that tell little.
	reserved              = 200
	littleSecond, littles = 0.05, 5

	sweepEvery = time.Minute
)

// eventExcess is what becomes of an Event for which there is no room.
const eventExcess = "excess"

// rations bound how many Events there are, and how many of them one namespace has: a
// tenant can make a new one with every write to an annotation.
type rations struct {
	mu         sync.Mutex
	all        *rate.Limiter
	namespaces map[string]*ration // those that have told something lately
	swept      time.Time
}

// ration is how much a namespace may tell, and how much of that counts as little.
type ration struct{ most, little *rate.Limiter }

func newRations() *rations {
	return &rations{all: rate.NewLimiter(perSecond, atOnce), namespaces: map[string]*ration{}, swept: time.Now()}
}

// take reports whether an Event of a namespace may be written. It counts for the namespace
// all the same, so that nobody who wants to tell much passes for somebody who tells little.
func (r *rations) take(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep()
	own := r.namespaces[namespace]
	if own == nil {
		own = &ration{rate.NewLimiter(perNamespaceSecond, namespaceAtOnce), rate.NewLimiter(littleSecond, littles)}
		r.namespaces[namespace] = own
	}
	room := r.all.Tokens()
	if !own.little.Allow() {
		room -= reserved
	}
	return own.most.Allow() && room >= 1 && r.all.Allow()
}

// sweep forgets namespaces that have told nothing for so long that it counts no more.
func (r *rations) sweep() {
	if time.Since(r.swept) < sweepEvery {
		return
	}
	r.swept = time.Now()
	for namespace, own := range r.namespaces {
		if own.most.Tokens() >= namespaceAtOnce && own.little.Tokens() >= littles {
			delete(r.namespaces, namespace)
		}
	}
}
