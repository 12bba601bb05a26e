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
)

// Pace is the least time between two writes for a group.
const Pace = time.Second

type observer interface {
	Managed(namespace string) bool
	Cached(plan.Key) plan.Snapshot
}

// Options are all required.
type Options struct {
	Cache    *Cache
	Observer observer
	Client   dynamic.Interface
	Log      logrus.FieldLogger
	// Soon asks for a Reconcile after a while.
	Soon func(Name, time.Duration)
}

// Controller keeps an object for each group. Make one with New; calls for different
// names may run concurrently.
type Controller struct {
	Options
	turns turns // of all groups together

	mu       sync.Mutex
	accounts map[Name]*account
}

// account is what is remembered of one group.
type account struct {
	planned bool      // there was a plan of it since it was forgotten
	group   string    // whose, then
	latest  *thought  // the last plan; nil where there was nothing to do nor to wait for
	at      time.Time // of the last request
	last    written   // until the Cache shows the same
	quiet   quiet
}

// written is what was written last.
type written struct {
	uid     types.UID
	version plan.Version
	status  v1alpha1.RolloutGroupStatus
}

// New returns a Controller, which hears of every change in its Cache.
func New(o Options) *Controller {
	c := &Controller{Options: o, turns: newTurns(), accounts: map[Name]*account{}}
	o.Cache.changed = func(n Name) { o.Soon(n, 0) }
	o.Cache.filled = c.lookAtAll
	return c
}

// lookAtAll looks at every object and at every group, also where a request was in
// vain: that may be since the kind was about to go.
func (c *Controller) lookAtAll() {
	c.mu.Lock()
	names := slices.AppendSeq(c.Cache.names(), maps.Keys(c.accounts))
	for _, a := range c.accounts {
		a.quiet = quiet{}
	}
	c.mu.Unlock()
	for _, n := range names {
		c.Soon(n, 0)
	}
}

// nameFor returns the name of a group's object.
func nameFor(key plan.Key) Name { return Name{key.Namespace, hold.StatusName(key.Name)} }

// Take keeps the last plan of a group, for its object to say so. Of a group that rests, as
// most of a cluster do, it keeps none: caches show the same. What is not rolled, but shrinks
// or is evicted under a hold, is shown in no object.
func (c *Controller) Take(s plan.Snapshot, steps []plan.Action) {
	if !s.Key.Rolled() {
		return
	}
	n := nameFor(s.Key)
	c.mu.Lock()
	a := c.account(n)
	a.planned, a.group, a.latest = true, s.Key.Name, nil
	if len(steps) > 0 {
		a.latest = &thought{s, steps}
	}
	rest := time.Until(a.at.Add(Pace))
	c.mu.Unlock()
	c.tellSoon(n, rest)
}

// Forget hears that a group exists no more, or is another's to look after.
func (c *Controller) Forget(key plan.Key) {
	if !key.Rolled() {
		return
	}
	n := nameFor(key)
	c.mu.Lock()
	delete(c.accounts, n)
	c.mu.Unlock()
	c.tellSoon(n, 0)
}

func (c *Controller) tellSoon(n Name, rest time.Duration) {
	if c.Cache.Present() {
		c.Soon(n, max(rest, 0))
	}
}

// account returns what is remembered under a name. Call it locked.
func (c *Controller) account(n Name) *account {
	a := c.accounts[n]
	if a == nil {
		a = &account{}
		c.accounts[n] = a
	}
	return a
}

// remembered returns a copy of what is remembered under a name.
func (c *Controller) remembered(n Name) account {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.accounts[n]; a != nil {
		return *a
	}
	return account{}
}

// Reconcile lets the object of that name say how its group stands, or not exist. What
// fails is logged for who looks for it, and tried again after a while: no group waits
// for what is told of it.
func (c *Controller) Reconcile(ctx context.Context, n Name) (loop.Outcome, error) {
	if !c.Cache.Present() || !c.Observer.Managed(n.Namespace) {
		return loop.Gone(), nil
	}
	o, exists := c.Cache.object(n)
	c.shown(n, o)
	a := c.remembered(n)
	now := time.Now()
	switch rest := max(a.at.Add(Pace).Sub(now), a.quiet.rest(o.uid, now)); {
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
	return loop.Done(), nil // a plan comes, or there is nothing
}

// drop forgets that requests for an object were in vain which is gone, and its group too.
func (c *Controller) drop(n Name) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.accounts[n]; a != nil && !a.planned {
		delete(c.accounts, n)
	}
}

// wanted reports whether an object is that of a group, by what caches show.
func (c *Controller) wanted(n Name, o object) bool {
	key := plan.Key{Namespace: n.Namespace, Name: o.group}
	if nameFor(key) != n {
		return false
	}
	s := c.Observer.Cached(key)
	return len(s.Zones) > 0 || s.Hold.Exists
}

// show makes the object say how its group stands now, if it says something else.
func (c *Controller) show(ctx context.Context, n Name, o object, exists bool) loop.Outcome {
	if _, changed := c.news(n, o); exists && !changed && !c.anothers(n, o) {
		return loop.Done()
	}
	done, taken := c.turns.take(ctx)
	if !taken {
		return loop.Done()
	}
	defer done()
	a := c.remembered(n)
	if !a.planned || !c.Observer.Managed(n.Namespace) {
		return loop.Now() // it has changed meanwhile
	}
	if exists && c.anothers(n, o) {
		return c.delete(ctx, n, o) // the right one comes next
	}
	if !exists {
		made, err := c.create(ctx, n, a.group)
		if err != nil {
			return c.hush(n, "", err)
		}
		o = made
	}
	status, changed := c.news(n, o) // which is later than before the turn
	if !changed || !c.Observer.Managed(n.Namespace) {
		return loop.Done()
	}
	version, err := c.write(ctx, n, o.uid, status)
	if err != nil {
		return c.hush(n, o.uid, err)
	}
	c.wrote(n, written{o.uid, version, status})
	if o, exists := c.Cache.object(n); exists {
		c.shown(n, o) // the watch may have been faster than the answer
	}
	return loop.Done()
}

// anothers reports whether somebody made the object, for another group than its name is of:
// it can never say the right one.
func (c *Controller) anothers(n Name, o object) bool {
	a := c.remembered(n)
	return a.planned && o.group != a.group
}

// news returns what the object should say, and whether it says something else.
func (c *Controller) news(n Name, o object) (v1alpha1.RolloutGroupStatus, bool) {
	a := c.remembered(n)
	if !a.planned {
		return v1alpha1.RolloutGroupStatus{}, false
	}
	before := o.status
	if a.last.uid == o.uid && a.last.version >= o.version {
		before = a.last.status
	}
	status := statusOf(c.thoughtOf(n, a), o.generation, before)
	return status, !equality.Semantic.DeepEqual(before, status)
}

// thoughtOf returns the last plan of a group. That of one that rests is made anew from what
// caches show.
func (c *Controller) thoughtOf(n Name, a account) thought {
	if a.latest != nil {
		return *a.latest
	}
	s := c.Observer.Cached(plan.Key{Namespace: n.Namespace, Name: a.group})
	return thought{s, plan.Group(s)}
}

func (c *Controller) wrote(n Name, what written) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.accounts[n]; a != nil {
		a.last, a.at = what, time.Now()
	}
}

// shown forgets what was written last once the Cache shows the same.
func (c *Controller) shown(n Name, o object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.accounts[n]
	if a != nil && a.last.uid == o.uid && a.last.version == o.version && equality.Semantic.DeepEqual(a.last.status, o.status) {
		a.last = written{}
	}
}
