package walk

import (
	"context"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// review is a request about a group that a webhook of a process judges.
type review struct {
	*task
	shown served // by the API server, for what was read last
}

// judge has lockstep's own code judge a request. A process that has died does not answer.
func (p *process) judge(g *group, judge func(context.Context, *review) admission.Verdict, done func(admission.Verdict, served)) {
	r, v := &review{}, admission.Verdict{}
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

// silent is a log that nobody reads.
func silent() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// view is what lockstep's webhooks know of the group under review, in a namespace that has
// opted in: what observe.Observer shows them.
type view struct{ *review }

// Synced implements admission.Observer.
func (view) Synced() bool { return true }

// Managed implements admission.Observer.
func (view) Managed(string) bool { return true }

// BudgetsKnown implements admission.PodObserver.
func (view) BudgetsKnown() bool { return true }

// Set implements admission.Observer.
func (v view) Set(_, name string) (observe.Set, bool) {
	n := zoneNumber(name)
	return at(v.task, func() observe.Set { return v.set(v.sights[v.g.no].zones[n]) }), true
}

// LiveSet implements admission.Observer.
func (v view) LiveSet(_ context.Context, _, name string) (observe.Set, error) {
	n := zoneNumber(name)
	return await(v.task, func(answer func(observe.Set, error)) {
		send(v.process, func() (observe.Set, error) { return v.set(v.g.zones[n].Zone), nil }, answer)
	})
}

func (v view) set(z plan.Zone) observe.Set {
	return observe.Set{UID: z.UID, Version: z.Version, Held: true, Key: v.g.key}
}

// Pod implements admission.PodObserver.
func (v view) Pod(_, name string) (observe.Pod, bool) {
	pod := at(v.task, func() *plan.Pod { return v.podOf(v.sights[v.g.no].pods, name) })
	return v.pod(pod), pod != nil
}

// LivePod implements admission.PodObserver.
func (v view) LivePod(_ context.Context, _, name string) (observe.Pod, bool, error) {
	pod, err := await(v.task, func(answer func(*plan.Pod, error)) {
		send(v.process, func() (*plan.Pod, error) { return v.podOf(v.g.pods, name), nil }, answer)
	})
	return v.pod(pod), pod != nil, err
}

// Remembered implements admission.PodObserver.
func (v view) Remembered(_ context.Context, _, pod string) (bool, error) {
	set, _, _ := plan.ParentOf(pod)
	return await(v.task, func(answer func(bool, error)) {
		send(v.process, func() (bool, error) { return v.g.remembers(zoneNumber(set)), nil }, answer)
	})
}

// podOf returns the pod of that name, or nil.
func (v view) podOf(pods [][]*plan.Pod, name string) *plan.Pod {
	zone, ordinal, _ := plan.ParentOf(name)
	return pods[zoneNumber(zone)][ordinal]
}

func (v view) pod(p *plan.Pod) observe.Pod {
	if p == nil {
		return observe.Pod{}
	}
	return observe.Pod{UID: p.UID, Version: p.Version, Up: p.Up(), Leaving: p.Phase == plan.Leaving, Held: true, Key: v.g.key}
}

// Cached implements admission.Observer.
func (v view) Cached(plan.Key) plan.Snapshot {
	return at(v.task, func() plan.Snapshot {
		v.shown = v.process.shown(v.g)
		return v.cached(v.g)
	})
}

// Live implements admission.Observer.
func (v view) Live(ctx context.Context, key plan.Key) (plan.Snapshot, error) {
	at(v.task, func() nothing {
		v.comes(aLookBegins, v.g, v.process)
		return nothing{}
	})
	held, err := v.readLease(ctx, key)
	if err != nil {
		return plan.Snapshot{}, err
	}
	live, err := await(v.task, func(answer func(plan.Snapshot, error)) { v.lookUnder(v.g, held, answer) })
	if err == nil {
		v.shown = byLook(v.g, live)
	}
	return live, err
}

// recent is what this process remembers of groups that its caches may not show yet.
type recent struct{ *review }

// Looked implements admission.Freshness.
func (f recent) Looked(live plan.Snapshot) {
	at(f.task, func() nothing {
		f.looked(f.g, live)
		return nothing{}
	})
}

// Behind implements admission.Freshness.
func (f recent) Behind(cached plan.Snapshot) (missing string, lasting time.Duration) {
	return f.fresh.Behind(cached)
}

// records are the holds of groups, for webhooks.
type records struct{ *review }

func (r *review) holds() admission.Holds {
	return admission.Holds{Store: records{r}, Managed: func(string) bool { return true }}
}

// Cached implements admission.Store.
func (s records) Cached(plan.Key) plan.Hold {
	return at(s.task, func() plan.Hold { return s.hold(s.g) })
}

// Write implements admission.Store.
func (s records) Write(ctx context.Context, key plan.Key, record plan.Hold) error {
	at(s.task, func() nothing {
		s.story(s.g, s.name, "writes for a webhook:", (*spelled)(&record))
		return nothing{}
	})
	return s.leases.Write(ctx, key, record)
}
