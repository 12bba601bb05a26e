package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaderName is the Lease in the operator's namespace that says which replica
// works. It says nothing about what is allowed.
const LeaderName = "lockstep-leader"

// Election configures leadership of the process.
type Election struct {
	Client        kubernetes.Interface // one of its own, so that nothing delays a renewal
	Namespace     string
	Identity      string
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
	Log           logrus.FieldLogger
	OnLeading     func(bool) // told when leadership begins and ends
}

// Lead runs work whenever this process leads, until ctx ends. When leadership
// or ctx ends, the context given to work ends first; Lead waits until work has
// returned; only then is leadership given up for others to take at once.
func (e Election) Lead(ctx context.Context, work func(context.Context)) error {
	for ctx.Err() == nil {
		if err := e.term(ctx, work); err != nil {
			return err
		}
	}
	return nil
}

// term is one attempt: compete, lead, work, give up.
func (e Election) term(ctx context.Context, work func(context.Context)) error {
	// The Lease is renewed until work has returned, so it does not end with ctx.
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElecting()
	t := &term{ended: make(chan struct{})}
	lock := e.lock()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		Name:          LeaderName,
		LeaseDuration: e.LeaseDuration,
		RenewDeadline: e.RenewDeadline,
		RetryPeriod:   e.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				t.run(func() { e.lead(ctx, leading, work) })
				stopElecting()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("set up leader election: %w", err)
	}
	stopWatching := context.AfterFunc(ctx, func() {
		if !elector.IsLeader() {
			stopElecting()
		}
	})
	defer stopWatching()
	elector.Run(electing)
	if t.wait() {
		e.giveUp(ctx, lock)
	}
	return nil
}

func (e Election) lock() *resourcelock.LeaseLock {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: LeaderName},
		Client:     e.Client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
	}
}

// lead runs work until the Lease is lost or the process is asked to stop.
func (e Election) lead(ctx, leading context.Context, work func(context.Context)) {
	working, stopWork := context.WithCancel(leading)
	defer stopWork()
	defer context.AfterFunc(ctx, stopWork)()
	e.OnLeading(true)
	defer e.OnLeading(false)
	work(working)
}

// giveUp empties the Lease if it is still ours.
func (e Election) giveUp(ctx context.Context, lock *resourcelock.LeaseLock) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.RetryPeriod)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err == nil && record.HolderIdentity == e.Identity {
		now := metav1.Now()
		err = lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		e.Log.WithError(err).Warn("could not give leadership up; it will expire")
	}
}

// term of leadership: at most one piece of work, and a way to wait for its end
// that is right even when the elector returns before the work has begun.
type term struct {
	mu    sync.Mutex
	over  bool
	began bool
	ended chan struct{}
}

func (t *term) run(work func()) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	t.began = true
	t.mu.Unlock()
	defer close(t.ended)
	work()
}

// wait ends the term, waits for its work, and tells whether there was any.
func (t *term) wait() bool {
	t.mu.Lock()
	t.over = true
	began := t.began
	t.mu.Unlock()
	if began {
		<-t.ended
	}
	return began
}
