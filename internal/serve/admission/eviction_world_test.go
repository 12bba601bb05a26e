package admission_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// evictable is a cluster with one group: the state in the caches and the state in the API server.
type evictable struct {
	*holdStore

	group  group.Snapshot // without its hold, which the holdStore has
	live   func(*group.Snapshot)
	cached map[string]observe.Pod // pods whose cached state differs from the group's
	hidden map[string]bool        // pods that the caches do not show
	there  map[string]observe.Pod // pods whose live state differs from the cached one
	gone   map[string]bool        // pods that do not exist

	unsynced, unmanaged, unbudgeted bool
	unreachable                     error // why the API server does not answer
	groupReads, podReads            int
	claims                          map[string][]lease.Claim // holds that remember the StatefulSet of a pod
	claimsOfGroups                  map[string][]lease.Claim // holds of groups that remember a StatefulSet
	unreadableGroup                 error                    // why the API server does not show holds
}

// cluster returns a cluster whose caches are up to date.
func cluster(parts ...fixture.Part) *evictable {
	group := fixture.Group(parts...)
	return &evictable{
		holdStore: &holdStore{record: group.Hold}, group: group,
		cached: map[string]observe.Pod{}, hidden: map[string]bool{}, there: map[string]observe.Pod{}, gone: map[string]bool{},
	}
}

// threeOfThree are three zones with three ready pods each.
func threeOfThree(parts ...fixture.Part) *evictable {
	pods := fixture.Pods("1", "1", "1")
	return cluster(append([]fixture.Part{fixture.Zone("zone-a", "1", pods), fixture.Zone("zone-b", "1", pods), fixture.Zone("zone-c", "1", pods)}, parts...)...)
}

// aDown are two zones; pod zone-a-1 is down.
func aDown(parts ...fixture.Part) *evictable {
	return cluster(append([]fixture.Part{
		fixture.Zone("zone-a", "1", fixture.Pods("1"), fixture.Pod(1, plan.Starting, "1")),
		fixture.Zone("zone-b", "1", fixture.Pods("1", "1")),
	}, parts...)...)
}

// budgeted adds a budget that covers every pod.
func budgeted(b group.DisruptionBudget) fixture.Part {
	return func(s *group.Snapshot) { s.Budgets = append(s.Budgets, b) }
}

func (c *evictable) Synced() bool        { return !c.unsynced }
func (c *evictable) Managed(string) bool { return !c.unmanaged }
func (c *evictable) BudgetsKnown() bool  { return !c.unbudgeted }

func (c *evictable) Pod(_, name string) (observe.Pod, bool) {
	if c.hidden[name] {
		return observe.Pod{}, false
	}
	if pod, otherwise := c.cached[name]; otherwise {
		return pod, true
	}
	pod, exists := c.group.Pod(name)
	return observe.Pod{UID: pod.UID, Version: pod.Version, Up: pod.Up(), Held: true, Key: c.group.Key}, exists
}

// Claims implements PodObserver.
func (c *evictable) Claims(_ context.Context, _, pod string) ([]lease.Claim, error) {
	return c.claims[pod], c.unreadableGroup
}

// ClaimsOfGroups implements PodObserver.
func (c *evictable) ClaimsOfGroups(_ context.Context, _, set string) ([]lease.Claim, error) {
	return c.claimsOfGroups[set], c.unreadableGroup
}

func (c *evictable) LivePod(_ context.Context, _, name string) (observe.Pod, bool, error) {
	c.podReads++
	if c.unreachable != nil || c.gone[name] {
		return observe.Pod{}, false, c.unreachable
	}
	if pod, otherwise := c.there[name]; otherwise {
		return pod, true, nil
	}
	pod, exists := c.group.Pod(name)
	return observe.Pod{UID: pod.UID, Version: pod.Version, Up: pod.Up(), Held: true, Key: c.group.Key}, exists, nil
}

func (c *evictable) Cached(plan.Key) group.Snapshot {
	s := fixture.Clone(c.group)
	s.Hold = group.HoldOf(c.holdStore.Cached(plan.Key{}))
	return s
}

func (c *evictable) Live(context.Context, plan.Key) (group.Snapshot, error) {
	c.groupReads++
	s := c.Cached(plan.Key{})
	s.Live = true
	if c.live != nil {
		c.live(&s)
	}
	return s, c.unreachable
}

// holdStore stores one hold by compare-and-swap.
type holdStore struct {
	mu        sync.Mutex
	record    group.Hold
	written   []group.Hold
	conflicts int   // number of writes before which another writer is first
	broken    error // the error of other writes
	slow      func()

	unwatched  group.Hold // the record of a Lease that lost its label
	relabelled []plan.Key
}

// Cached implements admission.Store.
func (l *holdStore) Cached(plan.Key) plan.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.Record()
}

// Read implements admission.Store. Only a Lease that lost its label is read.
func (l *holdStore) Read(_ context.Context, key plan.Key) (plan.Record, error) {
	record := l.Cached(key)
	if l.unwatched.Exists {
		record = l.unwatched.Record()
	}
	record.Unlabelled = true
	return record, nil
}

// Label implements admission.Store.
func (l *holdStore) Label(_ context.Context, key plan.Key, _ plan.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.relabelled = append(l.relabelled, key)
	if l.unwatched.Exists {
		l.record, l.record.Unlabelled = l.unwatched, false
	}
	return l.broken
}

// Write implements admission.Store.
func (l *holdStore) Write(_ context.Context, _ plan.Key, record plan.Record) error {
	if l.slow != nil {
		l.slow()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = append(l.written, group.HoldOf(record))
	switch {
	case l.broken != nil:
		return l.broken
	case l.conflicts > 0:
		l.conflicts--
		l.record.Version++
		l.record.Own = false
		fallthrough
	case record.Version != l.record.Version:
		return reason.WithClass(reason.Moved, errors.New("another client has written"))
	}
	record.Version++
	record.Exists = true
	l.record = group.HoldOf(record)
	return nil
}

// webhook returns the judge of evictions in the cluster.
func (c *evictable) webhook() *admission.PodEviction {
	return &admission.PodEviction{Observer: c, Holds: admission.Holds{Store: c.holdStore, Managed: c.Managed}, Fresh: freshness.NewLog(), Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
}

// pinned returns the eviction of a pod, bound to its UID.
func (c *evictable) pinned(tb testing.TB, name string) admission.Eviction {
	tb.Helper()
	pod, exists := c.group.Pod(name)
	if !exists {
		tb.Fatalf("there is no %s", name)
	}
	e := admission.Eviction{Namespace: "team", Pod: name, UID: pod.UID}
	if !pod.Up() {
		e.Version = pod.Version
	}
	return e
}

// judge judges the pinned eviction of a pod.
func (c *evictable) judge(t *testing.T, name string, more ...func(*admission.Eviction)) admission.Verdict {
	t.Helper()
	e := c.pinned(t, name)
	for _, change := range more {
		change(&e)
	}
	return c.webhook().Judge(t.Context(), e)
}
