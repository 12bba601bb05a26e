package walk

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// errDied is the answer to what a process waits for as it dies.
var errDied = errors.New("the process has died")

// reviews are the requests that webhooks of one life of a process judge.
type reviews struct {
	turns   *admission.GroupLocks
	life    context.Context // ends with the process
	end     context.CancelFunc
	waiting map[int]func() // what goroutines wait for, in the order of its beginning
	begun   int
}

func newReviews() *reviews {
	life, end := context.WithCancel(context.Background())
	return &reviews{turns: &admission.GroupLocks{}, life: life, end: end, waiting: map[int]func(){}}
}

// abandon lets the goroutines of a life come to their end: whatever they wait for, and ask
// for from now on, fails.
func (w *walk) abandon(all *reviews) {
	all.end()
	for _, no := range slices.Sorted(maps.Keys(all.waiting)) {
		all.waiting[no]()
	}
	w.woken = true
}

// review is a request about a group that a webhook of a process judges.
type review struct {
	*process
	reviews *reviews // of its life
	no      int      // of its goroutine
	g       *group
	shown   served // by the API server, for what was read last
}

// judge has lockstep's own code judge a request, in a goroutine of its own. A process that
// has died does not answer.
func (p *process) judge(g *group, judge func(context.Context, *review) admission.Verdict, done func(admission.Verdict, served)) {
	p.begun++
	r := &review{process: p, reviews: p.reviews, no: p.begun, g: g}
	of := p.reviews.life
	p.woken = true
	go func() {
		v := judge(of, r)
		p.hand(errand{of: r.no, final: true, do: func() {
			if of.Err() == nil {
				r.answer(v, done)
			}
		}})
	}()
}

func (r *review) answer(v admission.Verdict, done func(admission.Verdict, served)) {
	switch {
	case v.Reason == reason.InvariantViolated:
		r.violate(r.g, string(v.Reason), "the answer breaks it: "+v.Message)
	case !v.Allowed:
		r.report.Refusals++
		r.walk.story(r.g, r.name, "refuses:", v.Message)
	}
	done(v, r.shown)
}

// at does something of the walk for a review, which takes no time.
func at[T any](r *review, do func() T) T {
	answers := make(chan T, 1)
	r.hand(errand{of: r.no, do: func() {
		answers <- do()
		r.woken = true
	}})
	return <-answers
}

// answered is the answer to a request.
type answered[T any] struct {
	value T
	err   error
}

// await sends something for a review and waits for the answer.
func await[T any](r *review, send func(answer func(T, error))) (T, error) {
	answers := make(chan answered[T], 1)
	r.hand(errand{of: r.no, do: func() {
		of := r.reviews
		of.begun++
		no, open := of.begun, true
		answer := func(v T, err error) {
			if !open {
				return
			}
			open = false
			delete(of.waiting, no)
			answers <- answered[T]{v, err}
			r.woken = true
		}
		of.waiting[no] = func() {
			var none T
			answer(none, errDied)
		}
		if of.life.Err() != nil {
			of.waiting[no]()
			return
		}
		send(answer)
	}})
	a := <-answers
	return a.value, a.err
}

// Now implements admission.Clock.
func (r *review) Now() time.Time { return at(r, r.wallNow) }

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
	n := v.g.zoneNumber(name)
	return at(v.review, func() observe.Set { return v.set(v.sights[v.g.no].zones[n]) }), true
}

// LiveSet implements admission.Observer.
func (v view) LiveSet(_ context.Context, _, name string) (observe.Set, error) {
	n := v.g.zoneNumber(name)
	return await(v.review, func(answer func(observe.Set, error)) {
		send(v.process, func() (observe.Set, error) { return v.set(v.g.zones[n].Zone), nil }, answer)
	})
}

func (v view) set(z plan.Zone) observe.Set {
	return observe.Set{UID: z.UID, Version: z.Version, Held: true, Key: v.g.key}
}

// Pod implements admission.PodObserver.
func (v view) Pod(_, name string) (observe.Pod, bool) {
	pod := at(v.review, func() *plan.Pod { return v.podOf(v.sights[v.g.no].pods, name) })
	return v.pod(pod), pod != nil
}

// LivePod implements admission.PodObserver.
func (v view) LivePod(_ context.Context, _, name string) (observe.Pod, bool, error) {
	pod, err := await(v.review, func(answer func(*plan.Pod, error)) {
		send(v.process, func() (*plan.Pod, error) { return v.podOf(v.g.pods, name), nil }, answer)
	})
	return v.pod(pod), pod != nil, err
}

// podOf returns the pod of that name, or nil.
func (v view) podOf(pods [][]*plan.Pod, name string) *plan.Pod {
	zone, ordinal, _ := plan.ParentOf(name)
	return pods[v.g.zoneNumber(zone)][ordinal]
}

func (v view) pod(p *plan.Pod) observe.Pod {
	if p == nil {
		return observe.Pod{}
	}
	return observe.Pod{UID: p.UID, Version: p.Version, Up: p.Up(), Leaving: p.Phase == plan.Leaving, Held: true, Key: v.g.key}
}

// Cached implements admission.Observer.
func (v view) Cached(plan.Key) plan.Snapshot {
	return at(v.review, func() plan.Snapshot {
		v.shown = v.process.shown(v.g)
		return v.cached(v.g)
	})
}

// Live implements admission.Observer.
func (v view) Live(context.Context, plan.Key) (plan.Snapshot, error) {
	live, err := await(v.review, func(answer func(plan.Snapshot, error)) { v.look(v.g, true, answer) })
	if err == nil {
		v.shown = byLook(live)
	}
	return live, err
}

// recent is what this process remembers of groups that its caches may not show yet.
type recent struct{ *review }

// Looked implements admission.Freshness.
func (f recent) Looked(live plan.Snapshot) {
	at(f.review, func() nothing {
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
	return at(s.review, func() plan.Hold { return s.hold(s.g) })
}

// Write implements admission.Store.
func (s records) Write(_ context.Context, _ plan.Key, record plan.Hold) error {
	_, err := await(s.review, func(answer func(nothing, error)) {
		s.story(s.g, s.name, "writes for a webhook:", (*spelled)(&record))
		s.writeLease(s.g, record, func(err error) { answer(nothing{}, err) })
	})
	return err
}
