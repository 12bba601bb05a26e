package budgets

import (
	"context"
	"sync"
)

// news are the namespaces of which those who listen have not heard yet. Each is there
// once, however often its budgets change.
type news struct {
	mu      sync.Mutex
	changed map[string]bool // by namespace; false: in what is none of a spec
	some    chan struct{}   // holds one entry when there are any
}

func noNews() *news { return &news{changed: map[string]bool{}, some: make(chan struct{}, 1)} }

// add notes that a budget of a namespace is another one, and whether it asks for
// something else. It waits for nobody who listens.
func (n *news) add(namespace string, spec bool) {
	n.mu.Lock()
	n.changed[namespace] = n.changed[namespace] || spec
	n.mu.Unlock()
	select {
	case n.some <- struct{}{}:
	default: // it is known
	}
}

// take returns what was noted since the last call.
func (n *news) take() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed := n.changed
	n.changed = map[string]bool{}
	return changed
}

// tell tells those who listen of all that is noted, until ctx ends. What changes while
// they are at it is told once more.
func (b *Cache) tell(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-b.news.some:
		case <-ctx.Done():
		}
		for namespace, spec := range b.news.take() {
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
