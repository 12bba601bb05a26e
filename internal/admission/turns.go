package admission

import (
	"context"
	"sync"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// turns lets one request a group be decided at a time: the others are answered
// from what came of it. The zero turns are ready for use.
type turns struct {
	mu     sync.Mutex
	groups map[plan.Key]*turn
}

type turn struct {
	free  chan struct{}
	users int
}

// take waits for the group's turn. What it returns ends the turn; only the
// first call does.
func (t *turns) take(ctx context.Context, key plan.Key) (leave func(), err error) {
	mine := t.join(key)
	select {
	case mine.free <- struct{}{}:
	case <-ctx.Done():
		t.part(key, mine)
		return nil, context.Cause(ctx)
	}
	var once sync.Once
	return func() {
		once.Do(func() {
			<-mine.free
			t.part(key, mine)
		})
	}, nil
}

func (t *turns) join(key plan.Key) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine, known := t.groups[key]
	if !known {
		if t.groups == nil {
			t.groups = map[plan.Key]*turn{}
		}
		mine = &turn{free: make(chan struct{}, 1)}
		t.groups[key] = mine
	}
	mine.users++
	return mine
}

func (t *turns) part(key plan.Key, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.groups, key)
	}
}
