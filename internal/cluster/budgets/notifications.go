package budgets

import (
	"context"
	"sync"
)

// notifications contains the namespaces whose listeners must be called. A namespace is in it once, however
// often its budgets change.
type notifications struct {
	mu      sync.Mutex
	changed map[string]bool // by namespace; true if a spec has changed
	some    chan struct{}   // contains one entry if changed is not empty
}

func newNotifications() *notifications {
	return &notifications{changed: map[string]bool{}, some: make(chan struct{}, 1)}
}

// add records that a budget of a namespace, and perhaps its spec, has changed. It does not wait for
// listeners.
func (n *notifications) add(namespace string, spec bool) {
	n.mu.Lock()
	n.changed[namespace] = n.changed[namespace] || spec
	n.mu.Unlock()
	select {
	case n.some <- struct{}{}:
	default: // an entry is pending
	}
}

// take returns the changes since the last call.
func (n *notifications) take() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed := n.changed
	n.changed = map[string]bool{}
	return changed
}

// notifyListeners calls the listeners for all changes until ctx ends. Changes during a call cause another
// call.
func (b *Cache) notifyListeners(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-b.notifications.some:
		case <-ctx.Done():
		}
		for namespace, spec := range b.notifications.take() {
			if ctx.Err() != nil {
				return
			}
			if spec {
				b.listener(namespace)
			}
			b.watcher(namespace)
		}
	}
}
