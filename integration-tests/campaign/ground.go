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

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// ground is a cluster that several trials share. Users and most operators go to its
// first API server, which is restarted now and then; caches of some operators are filled
// by a stale one; the judge watches by one of its own, which keeps nothing and so misses nothing.
//
//	users, operators ──► API server ────────────────┐
//	some caches ───────► stale API server ──► pipe ─┼─► etcd
//	judge's watches ───► witness API server ────────┘
type ground struct {
	cluster *localcluster.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
	watcher kubernetes.Interface // at the API server for the judge
	stale   *localcluster.ExtraAPIServer
	lags    kubernetes.Interface // at that one
	pipe    *faultproxy.Pipe
	audits  []*judge.AuditLog
	programs

	interrupted chan struct{} // a part of the control plane is back
	returned    chan int      // which absence is over
	end         func()        // ends what goes on beside the trials

	interrupting sync.Mutex

	calling sync.Mutex
	calls   int // that were to be heard

	mu   sync.Mutex
	gone []absence
	lost error // why the cluster is of no use any more
}

// absence is a time in which a part of the control plane was away.
type absence struct {
	kind     string
	by       *trial
	from, to time.Time // to is zero while it lasts
	away     time.Duration
	forGood  bool // it never came back

	heard, heardLate time.Time // when caches showed again what was written, at once and by the API server that lags; zero: not yet
}

// lag is how late the stale API server hears of what is written: later than an operator
// that was killed is back.
const lag = 3 * time.Second

// manifests is where the operator's manifests are, seen from integration-tests.
const manifests = "../manifests/"

// account is the service account that operators work as.
const account = "lockstep"

func prepareGround(ctx context.Context, programs programs, progress io.Writer) (_ *ground, err error) {
	g := &ground{programs: programs, interrupted: make(chan struct{}, 1), returned: make(chan int, mostFaults*plansOfACluster)}
	if g.cluster, err = localcluster.Start(ctx, localcluster.Options{Progress: progress}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var reminders sync.WaitGroup
	g.end = func() { cancel(); reminders.Wait() }
	if err := g.furnish(ctx); err != nil {
		return nil, errors.Join(err, g.leave())
	}
	reminders.Go(func() { g.remindKubelets(ctx) })
	reminders.Go(func() { g.listen(ctx) })
	return g, nil
}

// furnish starts what stands beside the cluster.
func (g *ground) furnish(ctx context.Context) error {
	var err error
	if g.client, err = kubernetes.NewForConfig(unhurried(g.cluster.AdminConfig())); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if g.dynamic, err = dynamic.NewForConfig(g.cluster.AdminConfig()); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := g.cluster.Apply(ctx, manifests+"crds"); err != nil {
		return err
	}
	witness, err := g.cluster.AddAPIServer(ctx, localcluster.APIServerOptions{Name: "witness", Uncached: true})
	if err != nil {
		return err
	}
	if g.watcher, err = kubernetes.NewForConfig(witness.AdminConfig()); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if g.pipe, err = faultproxy.StartPipe(strings.TrimPrefix(g.cluster.EtcdURL(), "http://")); err != nil {
		return err
	}
	g.stale, err = g.cluster.AddAPIServer(ctx, localcluster.APIServerOptions{Name: "stale", Etcd: "http://" + g.pipe.Address()})
	if err != nil {
		return err
	}
	if g.lags, err = kubernetes.NewForConfig(unhurried(g.stale.AdminConfig())); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := g.makeEchoes(ctx); err != nil {
		return err
	}
	g.pipe.Delay(lag)
	for _, path := range []string{g.cluster.AuditLog(), g.stale.AuditLog()} {
		g.audits = append(g.audits, judge.NewAuditLog(path, isOperator))
	}
	return nil
}

// unhurried lets a client come to the API server on connections of its own, so one
// that hangs holds up no other.
func unhurried(c *rest.Config) *rest.Config {
	c.Timeout = tryFor
	return c
}

func isOperator(user string) bool { return strings.HasSuffix(user, ":"+account) }

// leave ends everything.
func (g *ground) leave() error {
	g.end()
	if g.pipe != nil {
		g.pipe.Close()
	}
	return g.cluster.Stop()
}

// interrupt ends a program of the control plane for a time, on behalf of a trial: one
// after the other.
func (g *ground) interrupt(ctx context.Context, by *trial, kind, program string, away time.Duration) error {
	g.interrupting.Lock()
	defer g.interrupting.Unlock()
	g.mu.Lock()
	g.gone = append(g.gone, absence{kind: kind, by: by, from: time.Now(), away: away})
	i := len(g.gone) - 1
	g.mu.Unlock()
	err := g.cluster.Interrupt(context.WithoutCancel(ctx), program, away)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.gone[i].forGood, g.lost = true, err
		return err
	}
	g.gone[i].to = time.Now()
	g.returned <- i
	select {
	case g.interrupted <- struct{}{}:
	default: // somebody has said so already
	}
	return nil
}

// failed says why the cluster is of no use any more.
func (g *ground) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// stood reports whether nothing that was away at a time stayed away. It waits until that is known.
func (g *ground) stood(at time.Time) bool {
	for {
		pending := slices.DeleteFunc(g.absencesSince(at), func(a absence) bool { return a.from.After(at) || !a.to.IsZero() })
		switch {
		case len(pending) == 0:
			return true
		case slices.ContainsFunc(pending, func(a absence) bool { return a.forGood }):
			return false
		}
		time.Sleep(tryAgain)
	}
}

// absencesSince returns when parts of the control plane were away after a time.
func (g *ground) absencesSince(from time.Time) []absence {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []absence
	for _, a := range g.gone {
		if a.to.IsZero() || a.to.After(from) {
			all = append(all, a)
		}
	}
	return all
}

// endByRestarts says when the API server that had not answered requests had been killed.
func (g *ground) endByRestarts(requests []judge.Request) {
	for _, a := range g.absencesSince(time.Time{}) {
		if a.kind == restarted && !a.to.IsZero() {
			judge.MarkKilled(requests, a.from, a.to)
		}
	}
}

// requests returns what was asked about a namespace, and by a user about anything, of
// whichever API server.
func (g *ground) requests(namespace, user string) ([]judge.Request, error) {
	var all []judge.Request
	for i, audit := range g.audits {
		requests, err := audit.Requests()
		if err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.lost = err // nobody else can be judged either
			return nil, err
		}
		if i == 0 { // of the API server that is restarted
			g.endByRestarts(requests)
		}
		all = append(all, slices.DeleteFunc(requests, func(r judge.Request) bool {
			return r.Namespace != namespace && r.User != user
		})...)
	}
	return all, nil
}
