package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// environment is a cluster that several trials share. Users and most operators use its first API
// server, which is restarted now and then. A stale API server fills the caches of some operators. The
// judge watches through an API server of its own without a cache, so it loses no event.
//
//	users, operators ──► API server ────────────────┐
//	some caches ───────► stale API server ──► pipe ─┼─► etcd
//	judge's watches ───► judge's API server ────────┘
type environment struct {
	cluster        *localcluster.Cluster
	client         kubernetes.Interface
	dynamic        dynamic.Interface
	watcher        kubernetes.Interface // at the API server for the judge
	dynamicWatcher dynamic.Interface    // the same
	stale          *localcluster.ExtraAPIServer
	laggingClient  kubernetes.Interface // at the stale API server
	pipe           *faultproxy.Pipe
	audits         []*judge.AuditLog
	programs

	interrupted chan struct{} // a part of the control plane was interrupted
	returned    chan int      // the index of an absence that ended
	stopWorkers func()        // stops the goroutines of the environment

	interrupting sync.Mutex

	writing     sync.Mutex
	cacheWrites int // number of the last write to the probes

	mu       sync.Mutex
	absences []absence
	pauses   []absence // of controllers
	failure  error     // why the cluster is not usable any more
}

// absence is a period in which a part of the control plane was away.
type absence struct {
	kind      string
	by        *trial
	from, to  time.Time // to is zero while it lasts
	away      time.Duration
	permanent bool // the part never returned

	cachesRecovered, laggingRecovered time.Time // when the caches were up to date again, of the first and of the stale API server; zero: not yet
}

// lag is how late the stale API server receives writes. It is longer than the restart of a killed
// operator.
const lag = 3 * time.Second

// manifests is the path of the operator's manifests from integration-tests.
const manifests = "../manifests/"

// account is the service account of the operators.
const account = "lockstep"

func newEnvironment(ctx context.Context, programs programs, progress io.Writer) (_ *environment, err error) {
	g := &environment{programs: programs, interrupted: make(chan struct{}, 1), returned: make(chan int, maxFaults*plansOfACluster)}
	if g.cluster, err = localcluster.Start(ctx, localcluster.Options{Progress: progress}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	g.stopWorkers = func() { cancel(); workers.Wait() }
	if err := g.setUp(ctx); err != nil {
		return nil, errors.Join(err, g.stop())
	}
	workers.Go(func() { g.touchUnreadyPods(ctx) })
	workers.Go(func() { g.watchRecoveries(ctx) })
	return g, nil
}

// setUp starts the API servers and clients next to the cluster.
func (e *environment) setUp(ctx context.Context) error {
	var err error
	if e.client, err = kubernetes.NewForConfig(withTimeout(e.cluster.AdminConfig())); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if e.dynamic, err = dynamic.NewForConfig(e.cluster.AdminConfig()); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := e.cluster.Apply(ctx, manifests+"crds"); err != nil {
		return err
	}
	if err := e.makePriorityClass(ctx); err != nil {
		return err
	}
	observer, err := e.cluster.AddAPIServer(ctx, localcluster.APIServerOptions{Name: "judge", Uncached: true})
	if err != nil {
		return err
	}
	if e.watcher, err = kubernetes.NewForConfig(observer.AdminConfig()); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if e.dynamicWatcher, err = dynamic.NewForConfig(observer.AdminConfig()); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if e.pipe, err = faultproxy.StartPipe(strings.TrimPrefix(e.cluster.EtcdURL(), "http://")); err != nil {
		return err
	}
	e.stale, err = e.cluster.AddAPIServer(ctx, localcluster.APIServerOptions{Name: "stale", Etcd: "http://" + e.pipe.Address()})
	if err != nil {
		return err
	}
	if e.laggingClient, err = kubernetes.NewForConfig(withTimeout(e.stale.AdminConfig())); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := e.createProbes(ctx); err != nil {
		return err
	}
	e.pipe.Delay(lag)
	for _, path := range []string{e.cluster.AuditLog(), e.stale.AuditLog()} {
		e.audits = append(e.audits, judge.NewAuditLog(path, isOperator))
	}
	return nil
}

// makePriorityClass creates the priority class of the pods of StatefulClusters.
func (e *environment) makePriorityClass(ctx context.Context) error {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: poolPriority}}
	if _, err := e.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make priority class: %w", err)
	}
	return nil
}

// withTimeout sets a timeout and gives the client its own connections, so that a hanging connection
// blocks no other client.
func withTimeout(c *rest.Config) *rest.Config {
	c.Timeout = attemptTimeout
	return c
}

func isOperator(user string) bool { return strings.HasSuffix(user, ":"+account) }

// stop stops everything.
func (e *environment) stop() error {
	e.stopWorkers()
	if e.pipe != nil {
		e.pipe.Close()
	}
	return e.cluster.Stop()
}

// interrupt stops a program of the control plane for a time, for a trial. Interruptions do not
// overlap.
func (e *environment) interrupt(ctx context.Context, by *trial, kind, program string, away time.Duration) error {
	e.interrupting.Lock()
	defer e.interrupting.Unlock()
	e.mu.Lock()
	e.absences = append(e.absences, absence{kind: kind, by: by, from: time.Now(), away: away})
	i := len(e.absences) - 1
	e.mu.Unlock()
	err := e.cluster.Interrupt(context.WithoutCancel(ctx), program, away)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.absences[i].permanent, e.failure = true, err
		return err
	}
	e.absences[i].to = time.Now()
	e.returned <- i
	select {
	case e.interrupted <- struct{}{}:
	default: // a notification is pending already
	}
	return nil
}

// pauseControllers pauses the controller manager for a time, for a trial.
func (e *environment) pauseControllers(ctx context.Context, by *trial, d time.Duration) error {
	e.interrupting.Lock()
	defer e.interrupting.Unlock()
	from := time.Now()
	err := e.cluster.Pause(ctx, localcluster.ControllerManager, d)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pauses = append(e.pauses, absence{kind: controllersPausedKind, by: by, from: from, to: time.Now()})
	return err
}

// err returns why the cluster is not usable any more, or nil.
func (e *environment) err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failure
}

// wasComplete reports whether all parts of the control plane that were away at a time returned. It
// waits until that is known.
func (e *environment) wasComplete(at time.Time) bool {
	for {
		pending := slices.DeleteFunc(e.absencesSince(at), func(a absence) bool { return a.from.After(at) || !a.to.IsZero() })
		switch {
		case len(pending) == 0:
			return true
		case slices.ContainsFunc(pending, func(a absence) bool { return a.permanent }):
			return false
		}
		time.Sleep(retryInterval)
	}
}

// absencesSince returns the absences that ended after a time, or last.
func (e *environment) absencesSince(from time.Time) []absence {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []absence
	for _, a := range e.absences {
		if a.to.IsZero() || a.to.After(from) {
			all = append(all, a)
		}
	}
	return all
}

// pausesSince returns the pauses of controllers that ended after a time.
func (e *environment) pausesSince(from time.Time) []absence {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.pauses), func(a absence) bool { return a.to.Before(from) })
}

// markKilledRequests sets the end of unanswered requests to the restarts of the API server.
func (e *environment) markKilledRequests(requests []judge.Request) {
	for _, a := range e.absencesSince(time.Time{}) {
		if a.kind == apiServerRestarted && !a.to.IsZero() {
			judge.MarkKilled(requests, a.from, a.to)
		}
	}
}

// requests returns the requests in a namespace and all requests of a user, to both API servers.
func (e *environment) requests(namespace, user string) ([]judge.Request, error) {
	var all []judge.Request
	for i, audit := range e.audits {
		requests, err := audit.Requests()
		if err != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.failure = err // no other plan can be verified either
			return nil, err
		}
		if i == 0 { // the API server that is restarted
			e.markKilledRequests(requests)
		}
		all = append(all, slices.DeleteFunc(requests, func(r judge.Request) bool {
			return r.Namespace != namespace && r.User != user
		})...)
	}
	return all, nil
}
