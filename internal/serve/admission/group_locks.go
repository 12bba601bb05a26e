package admission

import (
	"context"
	"sync"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// GroupLocks allow one request for each group at a time to be decided. Later requests are
// decided on the result of the earlier ones. All judges that write holds share the
// GroupLocks. The zero value is ready to use.
type GroupLocks struct {
	mu     sync.Mutex
	groups map[plan.Key]*groupLock
}

type groupLock struct {
	free  chan struct{}
	users int
}

// take locks the group. Only the first call of leave unlocks it.
func (t *GroupLocks) take(ctx context.Context, key plan.Key) (leave func(), err error) {
	lock := t.acquire(key)
	select {
	case lock.free <- struct{}{}:
	case <-ctx.Done():
		t.release(key, lock)
		return nil, context.Cause(ctx)
	}
	return t.end(key, lock), nil
}

// try locks the group if it is not locked.
func (t *GroupLocks) try(key plan.Key) (leave func(), taken bool) {
	lock := t.acquire(key)
	select {
	case lock.free <- struct{}{}:
		return t.end(key, lock), true
	default:
		t.release(key, lock)
		return nil, false
	}
}

func (t *GroupLocks) end(key plan.Key, lock *groupLock) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			<-lock.free
			t.release(key, lock)
		})
	}
}

func (t *GroupLocks) acquire(key plan.Key) *groupLock {
	t.mu.Lock()
	defer t.mu.Unlock()
	lock, known := t.groups[key]
	if !known {
		if t.groups == nil {
			t.groups = map[plan.Key]*groupLock{}
		}
		lock = &groupLock{free: make(chan struct{}, 1)}
		t.groups[key] = lock
	}
	lock.users++
	return lock
}

func (t *GroupLocks) release(key plan.Key, lock *groupLock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lock.users--; lock.users == 0 {
		delete(t.groups, key)
	}
}
