package rolloutgroup

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Pace is the least time between two writes for a group.
const Pace = time.Second

type observer interface {
	Managed(namespace string) bool
	Cached(plan.Key) group.Snapshot
}

// Options configure a Controller. All are required.
type Options struct {
	Cache    *Cache
	Observer observer
	Client   dynamic.Interface
	Log      logrus.FieldLogger
	// Soon requests a Reconcile after a duration.
	Soon func(Name, time.Duration)
}

// Controller maintains a RolloutGroup for each group. Callers create it with New. Calls for
// different names may run concurrently.
type Controller struct {
	Options
	turns turns // shared by all groups

	mu      sync.Mutex
	entries map[Name]*groupEntry
}

// groupEntry is the state of one group.
type groupEntry struct {
	planned bool        // the group was planned since it was last forgotten
	group   string      // the group of that plan
	latest  *evaluation // the last plan; nil if there was nothing to do and nothing to wait for
	at      time.Time   // of the last request
	last    written     // until the Cache shows it
	pause   pause
}

// written is the last write to an object.
type written struct {
	uid     types.UID
	version plan.Version
	status  v1alpha1.RolloutGroupStatus
}

// New returns a Controller and registers it for changes of its Cache.
func New(o Options) *Controller {
	c := &Controller{Options: o, turns: newTurns(), entries: map[Name]*groupEntry{}}
	o.Cache.changed = func(n Name) { o.Soon(n, 0) }
	o.Cache.filled = c.reconcileAll
	return c
}

// reconcileAll reconciles every object and every group. It also ends pauses after failed requests,
// because these can have failed while the kind was being deleted.
func (c *Controller) reconcileAll() {
	c.mu.Lock()
	names := slices.AppendSeq(c.Cache.names(), maps.Keys(c.entries))
	for _, a := range c.entries {
		a.pause = pause{}
	}
	c.mu.Unlock()
	for _, n := range names {
		c.Soon(n, 0)
	}
}

// nameFor returns the name of the object for a group.
func nameFor(key plan.Key) Name { return Name{key.Namespace, hold.StatusName(key.Name)} }

// Take stores the last plan of a group for its object. For a group without a plan, as most are, it
// stores none, because the caches give the same plan. Only rollout groups have objects; a zone
// or a budget with a hold of its own has none.
func (c *Controller) Take(s group.Snapshot, steps []plan.Action) {
	if !s.Key.Rolled() {
		return
	}
	n := nameFor(s.Key)
	c.mu.Lock()
	a := c.groupEntry(n)
	a.planned, a.group, a.latest = true, s.Key.Name, nil
	if len(steps) > 0 {
		a.latest = &evaluation{s, steps}
	}
	rest := time.Until(a.at.Add(Pace))
	c.mu.Unlock()
	c.enqueue(n, rest)
}

// Forget drops the state of a group that does not exist any more, or that another operator manages.
func (c *Controller) Forget(key plan.Key) {
	if !key.Rolled() {
		return
	}
	n := nameFor(key)
	c.mu.Lock()
	delete(c.entries, n)
	c.mu.Unlock()
	c.enqueue(n, 0)
}

func (c *Controller) enqueue(n Name, rest time.Duration) {
	if c.Cache.Present() {
		c.Soon(n, max(rest, 0))
	}
}

// groupEntry returns the state for a name. Callers hold the lock.
func (c *Controller) groupEntry(n Name) *groupEntry {
	a := c.entries[n]
	if a == nil {
		a = &groupEntry{}
		c.entries[n] = a
	}
	return a
}

// entry returns a copy of the state for a name.
func (c *Controller) entry(n Name) groupEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.entries[n]; a != nil {
		return *a
	}
	return groupEntry{}
}

// Reconcile writes the status of the object with this name, or creates or deletes the object. A
// failure is logged at debug level and retried after a pause. No group waits for its object.
func (c *Controller) Reconcile(ctx context.Context, n Name) (loop.Outcome, error) {
	if !c.Cache.Present() || !c.Observer.Managed(n.Namespace) {
		return loop.Gone(), nil
	}
	o, exists := c.Cache.object(n)
	c.shown(n, o)
	a := c.entry(n)
	now := time.Now()
	switch rest := max(a.at.Add(Pace).Sub(now), a.pause.rest(o.uid, now)); {
	case o.leaving:
		return loop.Done(), nil
	case rest > 0:
		return loop.After(rest), nil
	case a.planned:
		return c.show(ctx, n, o, exists), nil
	case exists && !c.wanted(n, o):
		return c.remove(ctx, n, o), nil
	case !exists:
		c.drop(n)
	}
	return loop.Done(), nil // a plan will follow, or there is no work
}

// drop deletes the state of a name if neither its group nor its object exists.
func (c *Controller) drop(n Name) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.entries[n]; a != nil && !a.planned {
		delete(c.entries, n)
	}
}

// wanted reports whether the caches show the group of an object.
func (c *Controller) wanted(n Name, o object) bool {
	key := plan.Key{Namespace: n.Namespace, Name: o.group}
	if nameFor(key) != n {
		return false
	}
	s := c.Observer.Cached(key)
	return len(s.Zones) > 0 || s.Hold.Exists
}

// show writes the current status into the object if it differs.
func (c *Controller) show(ctx context.Context, n Name, o object, exists bool) loop.Outcome {
	if _, changed := c.wantedStatus(n, o); exists && !changed && !c.ofAnotherGroup(n, o) {
		return loop.Done()
	}
	done, taken := c.turns.take(ctx)
	if !taken {
		return loop.Done()
	}
	defer done()
	a := c.entry(n)
	if !a.planned || !c.Observer.Managed(n.Namespace) {
		return loop.Now() // the state has changed in the meantime
	}
	if exists && c.ofAnotherGroup(n, o) {
		return c.delete(ctx, n, o) // the next reconcile creates the right one
	}
	if !exists {
		made, err := c.create(ctx, n, a.group)
		if err != nil {
			return c.startPause(n, "", err)
		}
		o = made
	}
	status, changed := c.wantedStatus(n, o) // again, because waiting for the turn takes time
	if !changed || !c.Observer.Managed(n.Namespace) {
		return loop.Done()
	}
	version, err := c.write(ctx, n, o.uid, status)
	if err != nil {
		return c.startPause(n, o.uid, err)
	}
	c.wrote(n, written{o.uid, version, status})
	if o, exists := c.Cache.object(n); exists {
		c.shown(n, o) // the watch can be faster than the response
	}
	return loop.Done()
}

// ofAnotherGroup reports whether the object has the group of another name in its spec. A user must have
// created it, and it can never show the right status.
func (c *Controller) ofAnotherGroup(n Name, o object) bool {
	a := c.entry(n)
	return a.planned && o.group != a.group
}

// wantedStatus returns the wanted status of the object, and whether it differs from the current one.
func (c *Controller) wantedStatus(n Name, o object) (v1alpha1.RolloutGroupStatus, bool) {
	a := c.entry(n)
	if !a.planned {
		return v1alpha1.RolloutGroupStatus{}, false
	}
	before := o.status
	if a.last.uid == o.uid && a.last.version >= o.version {
		before = a.last.status
	}
	status := statusOf(c.evaluationOf(n, a), o.generation, before)
	return status, !equality.Semantic.DeepEqual(before, status)
}

// evaluationOf returns the last plan of a group. If none is stored, it plans again on the
// caches.
func (c *Controller) evaluationOf(n Name, a groupEntry) evaluation {
	if a.latest != nil {
		return *a.latest
	}
	s := c.Observer.Cached(plan.Key{Namespace: n.Namespace, Name: a.group})
	return evaluation{s, group.Plan(s)}
}

func (c *Controller) wrote(n Name, what written) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.entries[n]; a != nil {
		a.last, a.at = what, time.Now()
	}
}

// shown drops the last write once the Cache shows it.
func (c *Controller) shown(n Name, o object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.entries[n]
	if a != nil && a.last.uid == o.uid && a.last.version == o.version && equality.Semantic.DeepEqual(a.last.status, o.status) {
		a.last = written{}
	}
}
