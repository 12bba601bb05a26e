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
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Resource is what serves the budgets.
var Resource = schema.GroupVersionResource{Group: rolloutoperatorv1.GroupName, Version: "v1", Resource: "zoneawarepoddisruptionbudgets"}

const (
	// againMost is the longest pause before what fails is tried again.
	againMost = 30 * time.Second
	// keptFor is for how long what is known stands that cannot be read again, and what is
	// not known yet is waited for.
	keptFor = time.Minute
	// goneAfter is for how long the kind has to be missing before budgets that were
	// there count as gone: one API server may know of a CRD later than another.
	goneAfter = 10 * time.Second
)

// Options say what is watched. All are required but Namespace.
type Options struct {
	Client    dynamic.Interface
	Metadata  metadata.Interface // for the CRD
	Namespace string             // the only one that counts; empty: all, and the CRD is watched
	Log       logrus.FieldLogger
}

// Cache knows the budgets. Make one with New, give it its listener, run it; its other
// methods may be called from any goroutine.
type Cache struct {
	options  Options
	listener func(namespace string)
	watcher  func(namespace string)
	news     *news

	mu         sync.Mutex
	namespaces map[string]*namespaceBudgets // by namespace; none is empty
	filled     bool                         // all that exists has been read
	absent     bool                         // there is no such kind
	asked      time.Time                    // since when the API server is asked; zero: it is not
	reads      *cache.Reflector             // what keeps the namespaces
	streams    bool                         // what exists is read by the watch itself
	failing    time.Time                    // since when requests fail; zero: they do not
	missing    time.Time                    // since when they fail since there is no such kind
	trouble    error                        // why they do

	answered bool      // it was said once what there is, or that it is not shown
	followed time.Time // when the API server last told what there is, or that a watch goes on
	said     string    // what the log says last
}

// New returns a Cache that knows nothing yet.
func New(o Options) *Cache {
	return &Cache{
		options: o, listener: func(string) {}, watcher: func(string) {}, news: noNews(), namespaces: map[string]*namespaceBudgets{},
	}
}

// Listen registers who is told when the budgets of a namespace have changed, once for
// changes that come together. However long that takes, budgets are known meanwhile. Call
// it before Run.
func (b *Cache) Listen(changed func(namespace string)) { b.listener = changed }

// ListenToAll registers who is told when anything about the budgets of a namespace has
// changed, their status included. Call it before Run.
func (b *Cache) ListenToAll(changed func(namespace string)) { b.watcher = changed }

// Known reports whether the budgets are known now, or there is no such kind.
func (b *Cache) Known() bool { return b.Trouble() == nil }

// Answered reports whether the API server has said once what budgets there are, or that
// it does not show them, or has been asked for a minute in vain: nobody has to wait any
// longer for what may never come. From then on it stays so, whether they are Known or not.
func (b *Cache) Answered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answered || !b.asked.IsZero() && time.Since(b.asked) >= keptFor
}

// Trouble says why the budgets are not known, or returns nil.
func (b *Cache) Trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch read := b.filled || b.absent; {
	case read && b.stands():
		return nil
	case b.trouble != nil:
		return fmt.Errorf("the budgets for evictions are not known: %w", b.trouble)
	case read:
		return errSilent
	}
	return errNotRead
}

// stands reports whether what was read is as it was, as far as can be known. Call it locked.
func (b *Cache) stands() bool {
	silent := time.Since(b.followed) >= dynamicwatch.SilentFor
	return !silent && (b.failing.IsZero() || time.Since(b.failing) < keptFor)
}

// Budgets returns those of a namespace, in order of names, those that cannot be used
// among them. It makes no request. Nobody changes what it returns.
func (b *Cache) Budgets(namespace string) []plan.DisruptionBudget {
	b.mu.Lock()
	s := b.namespaces[namespace]
	if s == nil || s.read != nil {
		defer b.mu.Unlock()
		return s.list()
	}
	objects, changes := s.ordered(), s.changes
	b.mu.Unlock()
	var read []plan.DisruptionBudget
	for _, o := range objects { // a costly text keeps nobody else waiting
		read = append(read, o.budget())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.changes == changes {
		s.read = read
	}
	return read
}

// Objects returns the budgets of a namespace in order of names. It makes no request.
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

// Version returns up to which version of the cluster the budgets are known; empty where
// they are not, or there is no such kind.
func (b *Cache) Version() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.filled || b.reads == nil {
		return ""
	}
	return b.reads.LastSyncResourceVersion()
}

// Any reports whether there are budgets in a namespace.
func (b *Cache) Any(namespace string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.namespaces[namespace] != nil
}

// Namespaces returns those in which there are budgets.
func (b *Cache) Namespaces() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.namespaces))
}
