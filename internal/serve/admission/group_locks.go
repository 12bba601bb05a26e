package admission

import (
	"context"
	"sync"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// GroupLocks let one request a group be decided at a time: the others are answered
// from what came of it. Whoever takes holds shares them. The zero Turns are ready
// for use.
type GroupLocks struct {
	mu     sync.Mutex
	groups map[plan.Key]*turn
}

type turn struct {
	free  chan struct{}
	users int
}

// take waits for the group's turn. What it returns ends the turn; only the
// first call does.
func (t *GroupLocks) take(ctx context.Context, key plan.Key) (leave func(), err error) {
	mine := t.join(key)
	select {
	case mine.free <- struct{}{}:
	case <-ctx.Done():
		t.part(key, mine)
		return nil, context.Cause(ctx)
	}
	return t.end(key, mine), nil
}

// try takes the group's turn if nobody has it.
func (t *GroupLocks) try(key plan.Key) (leave func(), taken bool) {
	mine := t.join(key)
	select {
	case mine.free <- struct{}{}:
		return t.end(key, mine), true
	default:
		t.part(key, mine)
		return nil, false
	}
}

func (t *GroupLocks) end(key plan.Key, mine *turn) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			<-mine.free
			t.part(key, mine)
		})
	}
}

func (t *GroupLocks) join(key plan.Key) *turn {
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

func (t *GroupLocks) part(key plan.Key, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.groups, key)
	}
}
