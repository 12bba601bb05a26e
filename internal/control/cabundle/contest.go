package cabundle

import (
	"bytes"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// quickWrites is how often one CA may be written into one configuration without a pause. A
	// client that applies the configuration again removes the CA.
	quickWrites = 5
	// writePause is the pause between later writes. Another operator that writes its own CA
	// responds at once, and both would write for ever.
	writePause = 30 * time.Second
)

// contests prevent two operators that inject into the same configuration from overwriting each
// other without a pause.
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

// rest returns how long to wait before the bundle is written again. If it returns 0, the write is
// counted. A new bundle never waits.
func (c *contests) rest(key Key, bundle []byte) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, found := c.all[key]
	if !found || !bytes.Equal(known.bundle, bundle) {
		known = contest{bytes.Clone(bundle), rate.NewLimiter(rate.Every(writePause), quickWrites)}
		c.all[key] = known
	}
	turn := known.writes.Reserve()
	wait := turn.Delay()
	if wait > 0 {
		turn.Cancel() // the next attempt reserves again
	}
	return wait
}

// forget drops the contest of a deleted configuration.
func (c *contests) forget(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, key)
}
