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

// review is a request about a group that a webhook of a process judges.
type review struct {
	*task
	shown served // by the API server, when the review began or in its last read
}

// judge runs lockstep's own code for a request. If the process dies, it does not answer.
func (p *process) judge(g *simulatedGroup, judge func(context.Context, *review) admission.Verdict, done func(admission.Verdict, served)) {
	r, v := &review{shown: p.shown(g)}, admission.Verdict{}
	p.run(g, func(ctx context.Context, t *task) {
		r.task = t
		v = judge(ctx, r)
	}, func() {
		switch {
		case v.Reason == reason.InvariantViolated:
			p.violate(g, string(v.Reason), "the answer breaks it: "+v.Message)
		case !v.Allowed:
			p.report.Refusals++
			p.walk.story(g, p.name, "refuses:", v.Message)
		}
		done(v, r.shown)
	})
}

// Now implements admission.Clock.
func (r *review) Now() time.Time { return at(r.task, r.wallNow) }

// silent returns a logger without output.
func silent() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// view is what lockstep's webhooks see of the group under review.
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
	return ofGroup(pod), known
}

// LivePod implements admission.PodObserver.
func (v view) LivePod(ctx context.Context, namespace, name string) (observe.Pod, bool, error) {
	pod, exists, err := v.Observer.LivePod(ctx, namespace, name)
	return ofGroup(pod), exists, err
}

// ofGroup marks a pod as covered by no hold, as far as the caches show, if only a budget covers it.
// The budgets of a walk always have room, but their pods are bound, and the webhook reads the holds
// of groups.
func ofGroup(pod observe.Pod) observe.Pod {
	if pod.Held && !pod.Key.Rolled() {
		pod.Held, pod.Unclaimed = false, true
	}
	return pod
}

// Cached implements admission.Observer.
func (v view) Cached(plan.Key) group.Snapshot {
	return at(v.task, func() group.Snapshot {
		v.shown = v.process.shown(v.g)
		return v.cached(v.g)
	})
}

// Live implements admission.Observer.
func (v view) Live(ctx context.Context, _ plan.Key) (group.Snapshot, error) {
	at(v.task, func() nothing {
		v.comes(aLookBegins, v.g, v.process)
		return nothing{}
	})
	live, err := v.readLive(ctx)
	if err != nil {
		return group.Snapshot{}, err
	}
	return at(v.task, func() group.Snapshot {
		v.shown = byLook(v.g, live)
		return v.shows(v.g, live)
	}), nil
}

// recent has what this process knows about groups and its caches may not show yet.
type recent struct{ *review }

// Looked implements admission.Freshness.
func (f recent) ReadLive(live plan.Workload) {
	at(f.task, func() nothing {
		f.looked(f.g, *live.(*group.Snapshot)) //nolint:errcheck // these webhooks read groups
		return nothing{}
	})
}

// Behind implements admission.Freshness.
func (f recent) Behind(cached plan.Workload) (missing string, lasting time.Duration) {
	return f.fresh.Behind(cached)
}

// records has the holds of groups, for webhooks.
type records struct{ *review }

func (r *review) holds() admission.Holds {
	return admission.Holds{Store: records{r}, Managed: func(string) bool { return true }}
}

// Cached implements admission.Store.
func (s records) Cached(plan.Key) plan.Record {
	return at(s.task, func() plan.Record { return s.hold(s.g).Record() })
}

// Read implements admission.Store.
func (s records) Read(ctx context.Context, key plan.Key) (plan.Record, error) {
	return s.leases.Read(ctx, key)
}

// Label implements admission.Store.
func (s records) Label(ctx context.Context, key plan.Key, record plan.Record) error {
	return s.leases.Label(ctx, key, record)
}

// Write implements admission.Store.
func (s records) Write(ctx context.Context, key plan.Key, record plan.Record) error {
	at(s.task, func() nothing {
		s.story(s.g, s.name, "writes for a webhook:", (*spelled)(new(group.HoldOf(record))))
		return nothing{}
	})
	return s.leases.Write(ctx, key, record)
}
