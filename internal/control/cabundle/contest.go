package cabundle

import (
	"bytes"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// quickly is how often one CA is written into one configuration without a rest:
	// whoever applies it anew takes the CA away.
	quickly = 5
	// restBetween is how long it rests after that. Another operator that writes its own
	// CA answers at once, and both would write for ever.
	restBetween = 30 * time.Second
)

// contests keep two operators that inject into the same configuration from
// answering each other.
type contests struct {
	mu  sync.Mutex
	all map[Key]contest
}

// contest counts how often one CA was written into one configuration.
type contest struct {
	bundle []byte
	writes *rate.Limiter
}

func newContests() *contests { return &contests{all: map[Key]contest{}} }

// rest returns how long to wait before the bundle is written once more; 0: it may be
// written now, and is counted. Another bundle than the last one never waits.
func (c *contests) rest(key Key, bundle []byte) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, found := c.all[key]
	if !found || !bytes.Equal(known.bundle, bundle) {
		known = contest{bytes.Clone(bundle), rate.NewLimiter(rate.Every(restBetween), quickly)}
		c.all[key] = known
	}
	turn := known.writes.Reserve()
	wait := turn.Delay()
	if wait > 0 {
		turn.Cancel() // it is asked again then
	}
	return wait
}

// forget drops what is known of a configuration that is gone.
func (c *contests) forget(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, key)
}
