package walk

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// client is a client of the simulated API server, with the methods that a lease.Store and an Observer
// need.
type client struct {
	kubernetes.Interface

	*walk
	by *process // nil: a user, to whom the API server answers at once
}

// CoordinationV1 implements kubernetes.Interface.
func (c client) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return coordination{c: c}
}

// CoreV1 implements kubernetes.Interface.
func (c client) CoreV1() coreclient.CoreV1Interface { return core{c: c} }

type coordination struct {
	coordinationclient.CoordinationV1Interface

	c client
}

// Leases implements coordinationclient.CoordinationV1Interface.
func (c coordination) Leases(namespace string) coordinationclient.LeaseInterface {
	return leases{c: c.c, namespace: namespace}
}

type core struct {
	coreclient.CoreV1Interface

	c client
}

// ConfigMaps implements coreclient.CoreV1Interface.
func (c core) ConfigMaps(string) coreclient.ConfigMapInterface { return configMaps{c: c.c} }

// configMaps has no ConfigMaps, as a cluster in which the predecessor has never run.
type configMaps struct {
	coreclient.ConfigMapInterface

	c client
}

// Get implements coreclient.ConfigMapInterface.
func (m configMaps) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	return doRequest(ctx, m.c, "get ConfigMap", func() (*corev1.ConfigMap, error) {
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	})
}

type leases struct {
	coordinationclient.LeaseInterface

	c         client
	namespace string
}

// doRequest carries out a request at the API server. For the task of a process it has the
// delays and faults of any other request.
func doRequest[T any](ctx context.Context, c client, what string, apply func() (T, error)) (T, error) {
	if c.by == nil {
		return apply()
	}
	t, is := ctx.Value(taskKey{}).(*task)
	if !is {
		panic("walk: a request outside of a task")
	}
	return awaitAnswer(t, what, func(answer func(T, error)) { send(c.by, apply, answer) })
}

// Get implements coordinationclient.LeaseInterface.
func (l leases) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	g := l.c.leaseNames[l.namespace+"/"+name]
	return doRequest(ctx, l.c, "get Lease", func() (*coordinationv1.Lease, error) {
		if g.stored == nil {
			return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), name)
		}
		return g.stored, nil
	})
}

// Create implements coordinationclient.LeaseInterface.
func (l leases) Create(ctx context.Context, next *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.put(ctx, next)
}

// Update implements coordinationclient.LeaseInterface.
func (l leases) Update(ctx context.Context, next *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.put(ctx, next)
}

func (l leases) put(ctx context.Context, next *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	g := l.c.leaseNames[l.namespace+"/"+next.Name]
	return doRequest(ctx, l.c, "put Lease", func() (*coordinationv1.Lease, error) { return l.c.storeLease(l.c.by, g, next) })
}

// Delete implements coordinationclient.LeaseInterface.
func (l leases) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	g, decided := l.c.leaseNames[l.namespace+"/"+name], l.c.by.wallNow() // its clock may jump until the request arrives
	_, err := doRequest(ctx, l.c, "delete Lease", func() (none, error) { return none{}, l.c.dropLease(l.c.by, g, *o.Preconditions, decided) })
	return err
}

// recordOf returns the record in the Lease of a group, as lockstep reads it; nil if there is no Lease.
func (w *walk) recordOf(g *simulatedGroup) *group.Hold {
	read, err := w.userLeases.Read(w.ctx, g.key)
	record := group.HoldOf(read)
	switch {
	case err != nil:
		panic(fmt.Sprintf("walk: the Lease of %s: %v", g.key, err))
	case record.Unreadable != "":
		panic(fmt.Sprintf("walk: lockstep cannot read its own record in the Lease of %s: %s", g.key, record.Unreadable))
	case !record.Exists:
		return nil
	}
	record.Own = false
	for i := range record.Intents {
		record.Intents[i].Known = 0
	}
	return &record
}

// newLeaseStore returns the store of Leases of a process that starts.
func (p *process) newLeaseStore() *lease.Store {
	return lease.NewStore(client{walk: p.walk, by: p}, "", p.name)
}

// catchUp advances the cache of Leases to its watch, and the time of the bubble to the time of the
// walk, before lockstep's own code continues.
func (p *process) catchUp() {
	p.advanceBubbleTime()
	shown := p.leases.Informer().GetIndexer()
	if len(p.pendingLeases) == 0 {
		return
	}
	for _, c := range newest(p.pendingLeases) {
		p.showLease(shown, c)
	}
	p.pendingLeases = nil
}

func (p *process) showLease(shown cache.Indexer, c change) {
	g := p.groups[c.group]
	var err error
	if c.lease != nil {
		err = shown.Update(c.lease)
	} else {
		err = shown.Delete(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: g.key.Namespace, Name: hold.LeaseName(g.key)}})
	}
	if err != nil {
		panic(fmt.Sprintf("walk: the cache of Leases: %v", err))
	}
	shown.Bookmark(c.version.String())
}

// knownHold returns the newest record of a group that the process knows.
func (p *process) knownHold(g *simulatedGroup) group.Hold {
	p.catchUp()
	return p.withProcessDurations(group.HoldOf(p.leases.Cached(g.key)))
}

// withProcessDurations returns a record with durations as measured by the process' steady clock, whose rate
// differs from that of the bubble.
func (p *process) withProcessDurations(h group.Hold) group.Hold {
	pace := func(d time.Duration) time.Duration { return time.Duration(p.clock.steady * float64(d)) }
	for i := range h.Intents {
		h.Intents[i].Known = pace(h.Intents[i].Known)
	}
	h.Unrenewed = pace(h.Unrenewed)
	return h
}

// checkNotRestored reports a violation if lockstep treats a read as one after a restore.
func (t *task) checkNotRestored(err error) {
	if restored, is := errors.AsType[*lease.RestoredError](err); is {
		runInLoop(t, func() none {
			t.violate(t.g, "NothingRestored", restored.Error())
			return none{}
		})
	}
}

// writeLease writes a record by compare-and-swap.
func (p *process) writeLease(g *simulatedGroup, record plan.Record, done func(error)) {
	var err error
	p.run(g, func(ctx context.Context, t *task) { err = t.leases.Write(ctx, g.key, record) }, func() { done(err) })
}

// removeLease deletes the Lease that a record was read from.
func (p *process) removeLease(g *simulatedGroup, record plan.Record, done func(error)) {
	var err error
	p.run(g, func(ctx context.Context, t *task) { err = t.leases.Remove(ctx, g.key, record) }, func() { done(err) })
}
