package walk

import (
	"context"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// review is a request about a group that a webhook of a process reviews.
type review struct {
	*task
	shown shownVersions // by the API server, when the review began or in its last read
}

// runReview runs lockstep's own code for a request. If the process dies, it does not answer.
func (p *process) runReview(g *simulatedGroup, decide func(context.Context, *review) admission.Verdict, done func(admission.Verdict, shownVersions)) {
	r, v := &review{shown: p.shownOf(g)}, admission.Verdict{}
	p.run(g, func(ctx context.Context, t *task) {
		r.task = t
		v = decide(ctx, r)
	}, func() {
		switch {
		case v.Reason == reason.InvariantViolated:
			p.violate(g, string(v.Reason), "the answer breaks it: "+v.Message)
		case !v.Allowed:
			p.report.Refusals++
			p.walk.trace(g, p.name, "refuses:", v.Message)
		}
		done(v, r.shown)
	})
}

// Now implements admission.Clock.
func (r *review) Now() time.Time { return runInLoop(r.task, r.wallNow) }

// silent returns a logger without output.
func silent() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// view is the Observer of lockstep's webhooks during a review.
type view struct {
	*observe.Observer
	*review
}

func (r *review) view() view { return view{r.observer, r} }

// Synced implements admission.Observer.
func (view) Synced() bool { return true }

// Pod implements admission.PodObserver.
func (v view) Pod(namespace, name string) (observe.Pod, bool) {
	pod, known := v.Observer.Pod(namespace, name)
	return budgetOnlyUnclaimed(pod), known
}

// LivePod implements admission.PodObserver.
func (v view) LivePod(ctx context.Context, namespace, name string) (observe.Pod, bool, error) {
	pod, exists, err := v.Observer.LivePod(ctx, namespace, name)
	return budgetOnlyUnclaimed(pod), exists, err
}

// budgetOnlyUnclaimed marks a pod that only a budget covers as a pod that no hold covers, as far as the
// caches show. So the webhooks bind the evictions of such pods, and read the holds of groups. The budgets
// of a walk never refuse an eviction.
func budgetOnlyUnclaimed(pod observe.Pod) observe.Pod {
	if pod.Held && !pod.Key.Rolled() {
		pod.Held, pod.Unclaimed = false, true
	}
	return pod
}

// Cached implements admission.Observer.
func (v view) Cached(plan.Key) group.Snapshot {
	return runInLoop(v.task, func() group.Snapshot {
		v.shown = v.process.shownOf(v.g)
		return v.cached(v.g)
	})
}

// Live implements admission.Observer.
func (v view) Live(ctx context.Context, _ plan.Key) (group.Snapshot, error) {
	runInLoop(v.task, func() none {
		v.fire(liveReadBegins, v.g, v.process)
		return none{}
	})
	live, err := v.readLive(ctx)
	if err != nil {
		return group.Snapshot{}, err
	}
	return runInLoop(v.task, func() group.Snapshot {
		v.shown = shownByLiveRead(v.g, live)
		return v.checkSnapshot(v.g, live)
	}), nil
}

// knownState is the knowledge of the process that its caches may not show yet.
type knownState struct{ *review }

// ReadLive implements admission.Freshness.
func (f knownState) ReadLive(live plan.Workload) {
	runInLoop(f.task, func() none {
		f.recordLiveRead(f.g, *live.(*group.Snapshot)) //nolint:errcheck // these webhooks read groups
		return none{}
	})
}

// Behind implements admission.Freshness.
func (f knownState) Behind(cached plan.Workload) (missing string, lasting time.Duration) {
	return f.fresh.Behind(cached)
}

// webhookStore is the store of holds for webhooks.
type webhookStore struct{ *review }

func (r *review) holds() admission.Holds {
	return admission.Holds{Store: webhookStore{r}, Managed: func(string) bool { return true }}
}

// Cached implements admission.Store.
func (s webhookStore) Cached(plan.Key) plan.Record {
	return runInLoop(s.task, func() plan.Record { return s.knownHold(s.g).Record() })
}

// Read implements admission.Store.
func (s webhookStore) Read(ctx context.Context, key plan.Key) (plan.Record, error) {
	return s.leases.Read(ctx, key)
}

// Label implements admission.Store.
func (s webhookStore) Label(ctx context.Context, key plan.Key, record plan.Record) error {
	return s.leases.Label(ctx, key, record)
}

// Write implements admission.Store.
func (s webhookStore) Write(ctx context.Context, key plan.Key, record plan.Record) error {
	runInLoop(s.task, func() none {
		s.trace(s.g, s.name, "writes for a webhook:", (*holdText)(new(group.HoldOf(record))))
		return none{}
	})
	return s.leases.Write(ctx, key, record)
}
