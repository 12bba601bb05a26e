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
	"k8s.io/client-go/util/retry"
)

// LeaderName is the Lease in the operator's namespace that names the replica that leads. No safety decision
// depends on it.
const LeaderName = "lockstep-leader"

// Election configures leadership of the process.
type Election struct {
	Client        kubernetes.Interface // not shared with other requests, so that nothing delays a renewal
	Namespace     string
	Identity      string
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
	Log           logrus.FieldLogger
	OnLeading     func(bool) // called when leadership begins and when it ends
	Renewed       func()     // called when this process sees a change of the Lease by any leader; may be nil
}

// Lead runs work while this process leads, until ctx ends. When leadership or ctx ends, the context of work
// ends first. Lead then waits until work has returned, and only then releases leadership, so that another
// replica can lead at once.
func (e Election) Lead(ctx context.Context, work func(context.Context)) error {
	for ctx.Err() == nil {
		if err := e.term(ctx, work); err != nil {
			return err
		}
	}
	return nil
}

// term is one attempt: compete, lead, work, release.
func (e Election) term(ctx context.Context, work func(context.Context)) error {
	// The Lease is renewed until work has returned, so it does not end with ctx.
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElecting()
	t := &term{ended: make(chan struct{})}
	lock := &watchedLock{LeaseLock: e.lock(), renewed: e.Renewed}
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
		if !t.begun() {
			stopElecting() // if the work has begun, its end stops the election
		}
	})
	defer stopWatching()
	elector.Run(electing)
	t.wait()
	e.giveUp(ctx, lock.LeaseLock)
	return nil
}

// watchedLock calls renewed when the leader, in whichever process, has renewed the Lease. It uses only the
// clock of this process.
type watchedLock struct {
	*resourcelock.LeaseLock

	renewed func() // may be nil
	last    resourcelock.LeaderElectionRecord
}

// Get implements resourcelock.Interface.
func (l *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err == nil {
		l.see(*record)
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.LeaseLock.Create(ctx, record)
	if err == nil {
		l.see(record)
	}
	return err
}

// Update implements resourcelock.Interface.
func (l *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.LeaseLock.Update(ctx, record)
	if err == nil {
		l.see(record)
	}
	return err
}

func (l *watchedLock) see(record resourcelock.LeaderElectionRecord) {
	if l.renewed != nil && record.HolderIdentity != "" && record != l.last {
		l.renewed()
	}
	l.last = record
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

// giveUp releases the Lease if this process still has it. A last renewal that was cancelled here may still be
// in progress on the server, hence the retry after a conflict.
func (e Election) giveUp(ctx context.Context, lock *resourcelock.LeaseLock) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.RetryPeriod)
	defer cancel()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return e.empty(ctx, lock) })
	if err != nil && !apierrors.IsNotFound(err) {
		e.Log.WithError(err).Warn("could not give leadership up; it will expire")
	}
}

func (e Election) empty(ctx context.Context, lock *resourcelock.LeaseLock) error {
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != e.Identity {
		return err
	}
	now := metav1.Now()
	return lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}

// term is one term of leadership. It runs work at most once. wait is correct even if the elector returns
// before the work has begun.
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

func (t *term) begun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.began
}

// wait ends the term and waits for its work if that has begun.
func (t *term) wait() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	if t.begun() {
		<-t.ended
	}
}
