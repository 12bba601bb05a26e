package rolloutgroup

import (
	"context"
	"time"
)

const (
	// After a write nothing is written for as long as it took, whichever group it is
	// for: the more the API server has to do, the less it is told. leastRest bounds
	// how often something is written where writes take no time, mostRest how seldom
	// where they take long.
	leastRest, mostRest = 10 * time.Millisecond, 250 * time.Millisecond
)

// turns lets one write after the other be made. Make one with newTurns.
type turns struct{ next chan time.Time }

func newTurns() turns {
	t := turns{make(chan time.Time, 1)}
	t.next <- time.Time{}
	return t
}

// take waits for the next turn, which lasts until done is called. It is false when
// ctx ends first; then there is nothing to be done.
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
