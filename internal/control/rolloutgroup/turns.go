package rolloutgroup

import (
	"context"
	"time"
)

const (
	// After a write, no group is written for as long as the write took, so the rate falls
	// when the API server is slow. leastRest limits the rate if writes are fast, and
	// mostRest limits the pause if they are slow.
	leastRest, mostRest = 10 * time.Millisecond, 250 * time.Millisecond
)

// turns serializes writes. Callers create it with newTurns.
type turns struct{ next chan time.Time }

func newTurns() turns {
	t := turns{make(chan time.Time, 1)}
	t.next <- time.Time{}
	return t
}

// take waits for the next turn, which lasts until done is called. It returns false if ctx ends
// first.
func (t turns) take(ctx context.Context) (done func(), taken bool) {
	var next time.Time
	select {
	case next = <-t.next:
	case <-ctx.Done():
		return nil, false
	}
	rest := time.NewTimer(time.Until(next))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		t.next <- next
		return nil, false
	}
	began := time.Now()
	return func() {
		now := time.Now()
		t.next <- now.Add(min(max(now.Sub(began), leastRest), mostRest))
	}, true
}
