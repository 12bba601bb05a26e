package budgets

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Resource is the resource of budgets.
var Resource = schema.GroupVersionResource{Group: rolloutoperatorv1.GroupName, Version: "v1", Resource: "zoneawarepoddisruptionbudgets"}

const (
	// againMost is the longest pause before a failed watch is retried.
	againMost = 30 * time.Second
	// validFor is how long the cache stays valid while it cannot be refreshed, and how long
	// callers wait for its first content.
	validFor = time.Minute
	// missingFor is how long the kind must be missing before known budgets count as deleted.
	// One API server may see a CRD later than another.
	missingFor = 10 * time.Second
)

// Options configure a Cache. All are required but Namespace.
type Options struct {
	Client    dynamic.Interface
	Metadata  metadata.Interface // reads the CRD
	Namespace string             // the only managed namespace; if empty, all namespaces and the CRD are watched
	Log       logrus.FieldLogger
}

// Cache contains the budgets of all namespaces. Callers create it with New, set its listeners and
// call Run. Its other methods are safe for concurrent use.
type Cache struct {
	options       Options
	listener      func(namespace string)
	watcher       func(namespace string)
	notifications *notifications

	mu         sync.Mutex
	namespaces map[string]*namespaceBudgets // by namespace; none is empty
	filled     bool                         // all existing budgets have been read
	absent     bool                         // the kind does not exist
	asked      time.Time                    // when Run began; zero: it has not
	reads      *cache.Reflector             // fills namespaces
	streams    bool                         // the watch begins with the existing budgets
	failing    time.Time                    // since when requests fail; zero: they do not
	missing    time.Time                    // since when they fail because the kind does not exist
	lastErr    error                        // why they fail

	answered    bool      // the API server has once returned the budgets, or has forbidden it
	lastContact time.Time // the last list or heartbeat from the API server
	loggedState string    // the last state that was logged
}

// New returns an empty Cache.
func New(o Options) *Cache {
	return &Cache{
		options: o, listener: func(string) {}, watcher: func(string) {}, notifications: newNotifications(), namespaces: map[string]*namespaceBudgets{},
	}
}

// Listen registers a function that is called when the budgets of a namespace have changed. Changes
// that happen together cause one call. A slow function does not delay the cache. Call Listen before
// Run.
func (b *Cache) Listen(changed func(namespace string)) { b.listener = changed }

// ListenToAll registers a function that is called when any field of a namespace's budgets has
// changed, including the status. Call ListenToAll before Run.
func (b *Cache) ListenToAll(changed func(namespace string)) { b.watcher = changed }

// Known reports whether the budgets are known, or their kind does not exist.
func (b *Cache) Known() bool { return b.Trouble() == nil }

// Answered reports whether the API server has once returned the budgets or forbidden to read them,
// or has not answered for a minute. Callers need not wait any longer then. Once it is true, it stays
// true, whether or not the budgets are Known.
func (b *Cache) Answered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answered || !b.asked.IsZero() && time.Since(b.asked) >= validFor
}

// Trouble returns why the budgets are not known, or nil.
func (b *Cache) Trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch read := b.filled || b.absent; {
	case read && b.isFresh():
		return nil
	case b.lastErr != nil:
		return fmt.Errorf("the budgets for evictions are not known: %w", b.lastErr)
	case read:
		return errSilent
	}
	return errNotRead
}

// isFresh reports whether the cache is up to date, as far as can be known. Callers hold the lock.
func (b *Cache) isFresh() bool {
	silent := time.Since(b.lastContact) >= dynamicwatch.SilentFor
	return !silent && (b.failing.IsZero() || time.Since(b.failing) < validFor)
}

// Budgets returns the budgets of a namespace, ordered by name, including invalid ones. It makes no
// request. Callers must not change the result.
func (b *Cache) Budgets(namespace string) []group.DisruptionBudget {
	b.mu.Lock()
	s := b.namespaces[namespace]
	if s == nil || s.read != nil {
		defer b.mu.Unlock()
		return s.list()
	}
	objects, changes := s.ordered(), s.changes
	b.mu.Unlock()
	var read []group.DisruptionBudget
	for _, o := range objects { // without the lock, because parsing may be slow
		read = append(read, o.budget())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.changes == changes {
		s.read = read
	}
	return read
}

// Objects returns the budgets of a namespace, ordered by name. It makes no request.
func (b *Cache) Objects(namespace string) []Object {
	b.mu.Lock()
	var all []*object
	if s := b.namespaces[namespace]; s != nil {
		all = s.ordered()
	}
	b.mu.Unlock()
	objects := make([]Object, len(all))
	for i, o := range all {
		objects[i] = Object{Budget: o.budget(), UID: o.uid, Version: o.version, Generation: o.generation, Status: o.status}
	}
	return objects
}

// Version returns the resourceVersion up to which the budgets are known. It is empty if they are
// unknown or their kind does not exist.
func (b *Cache) Version() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.filled || b.reads == nil {
		return ""
	}
	return b.reads.LastSyncResourceVersion()
}

// Any reports whether a namespace has budgets.
func (b *Cache) Any(namespace string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.namespaces[namespace] != nil
}

// Namespaces returns the namespaces that have budgets.
func (b *Cache) Namespaces() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.namespaces))
}
