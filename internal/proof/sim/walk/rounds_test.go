package walk

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/control/contest"
	"github.com/lockstep-dev/lockstep/internal/control/groups"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// The real controller learns in each round of a walk what the walk learned, in the same order. It carries out the same
// plan under the same decision, or none, and asks for the next round at the same time.
func TestARoundDecidesAsTheController(t *testing.T) {
	const first, schedules, atLeast = 1, 30, 10
	kinds := map[string]int{"all": 0, "forgets": 0, "is behind": 0, "acts on the caches": 0, "acts on a live read": 0, "is not confirmed": 0, "a read fails": 0, "a write fails": 0}
	for seed := uint64(first); seed < first+schedules; seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWalk(t.Context(), Draw(seed))
			w.rounds = func(r *round, after time.Duration, err error) {
				if t.Failed() {
					return
				}
				kinds["all"]++
				kinds[kindOf(r, err)]++
				if diff := cmp.Diff(replay(t, r), decided(r, after, err)); diff != "" {
					t.Errorf("seed %d: a round that %s differs from the controller (-controller +walk):\n%s", seed, kindOf(r, err), diff)
				}
			}
			w.run()
		})
	}
	for kind, n := range kinds {
		if n < atLeast {
			t.Errorf("%d rounds: %s; want at least %d", n, kind, atLeast)
		}
	}
}

// kindOf returns what a round does.
func kindOf(r *round, err error) string {
	l := r.learned
	switch {
	case len(l.acted) > 0 && err != nil:
		return "a write fails"
	case len(l.acted) > 0 && r.snapshot.Live:
		return "acts on a live read"
	case len(l.acted) > 0:
		return "acts on the caches"
	case err != nil:
		return "a read fails"
	case !l.managed || len(l.caches) == 1 && len(l.same)+len(l.live) == 0 && !l.caches[0].behind:
		return "forgets"
	case l.caches[0].behind:
		return "is behind"
	}
	return "is not confirmed"
}

// decision is what a round decides.
type decision struct {
	Next      string
	Failed    bool
	Plan      string
	Lease     plan.Record
	Need      hold.Need
	Limited   bool // no disruption begins after some time
	Forgotten bool
	Unused    []string // what the walk learned and the controller did not ask for
}

// decided returns what a round of the walk decided.
func decided(r *round, after time.Duration, err error) decision {
	d := decision{Next: loop.Done().String(), Failed: err != nil, Forgotten: kindOf(r, err) == "forgets"}
	switch {
	case d.Forgotten:
		d.Next = loop.Gone().String()
	case after != onlyEvents:
		d.Next = loop.After(after).String()
	}
	if len(r.learned.acted) > 0 {
		d.Plan, d.Lease, d.Need, d.Limited = plan.Notation(r.actions), r.decision.Record, r.decision.Need, r.confirmedUntil > 0
	}
	return d
}

// replay returns what the real controller decides if it learns what the round has learned.
func replay(t *testing.T, r *round) decision {
	t.Helper()
	log := logrus.New()
	log.Out = io.Discard
	again := &replayed{T: t, learned: r.learned, first: r.first}
	again.fresh = freshness.NewLog(again)
	c := groups.Controller{
		Observer: again, Executor: again, Reporter: again, Messages: silentCalls{}, Preparations: silentCalls{}, Traces: silentCalls{},
		Fresh: again.fresh, Contests: contest.NewLog(), Log: log,
	}
	outcome, err := c.Reconcile(t.Context(), r.g.key)
	again.Next, again.Failed = outcome.String(), err != nil
	again.Unused = again.learned.left()
	return again.decision
}

// left returns what is left of the answers.
func (l learned) left() []string {
	var names []string
	for name, n := range map[string]int{"caches": len(l.caches), "live reads": len(l.live), "reads of StatefulSets": len(l.same)} {
		if n > 0 {
			names = append(names, name)
		}
	}
	return names
}

// replayed is everything around a controller that learns what a round of a walk has learned.
type replayed struct {
	*testing.T
	decision

	learned learned
	first   group.Snapshot
	fresh   *freshness.Log
}

// shift removes the first element and returns it.
func shift[T any](t *testing.T, what string, all *[]T) T {
	t.Helper()
	if len(*all) == 0 {
		t.Errorf("the controller asks for %s once more than the walk", what)
		var none T
		return none
	}
	first := (*all)[0]
	*all = (*all)[1:]
	return first
}

// Managed implements the Observer of the controller.
func (p *replayed) Managed(string) bool { return p.learned.managed }

// Cached implements the Observer of the controller. It makes the process know more than the caches show if it did.
func (p *replayed) Cached(key plan.Key) group.Snapshot {
	seen := shift(p.T, "the caches", &p.learned.caches)
	if seen.behind {
		newer := group.Snapshot{Key: key, ZonesAt: seen.ZonesAt + 1, PodsAt: seen.PodsAt + 1}
		p.fresh.ReadLive(&newer)
		p.fresh.Behind(&newer)
	}
	return seen.Snapshot
}

// Live implements the Observer of the controller.
func (p *replayed) Live(context.Context, plan.Key) (group.Snapshot, error) {
	if !p.learned.withLease {
		p.Error("the controller reads the Lease, and the walk does not")
	}
	read := shift(p.T, "a live read", &p.learned.live)
	return read.value, read.err
}

// LiveUnder implements the Observer of the controller.
func (p *replayed) LiveUnder(_ context.Context, _ plan.Key, known group.Hold) (group.Snapshot, error) {
	if diff := cmp.Diff(known, p.first.Hold); diff != "" || p.learned.withLease {
		p.Errorf("the walk reads under another record (-controller +walk), or the Lease (%t):\n%s", p.learned.withLease, diff)
	}
	read := shift(p.T, "a live read", &p.learned.live)
	return read.value, read.err
}

// SameDesiredState implements the Observer of the controller.
func (p *replayed) SameDesiredState(context.Context, group.Snapshot) (bool, error) {
	read := shift(p.T, "the StatefulSets", &p.learned.same)
	return read.value, read.err
}

// Diagnose implements the Observer of the controller.
func (p *replayed) Diagnose(context.Context, string, plan.Pod) ([]diagnosis.Fact, error) {
	return nil, nil
}

// WriterOfReplicas implements the Observer of the controller.
func (p *replayed) WriterOfReplicas(context.Context, string, string, string) (string, error) {
	return "", nil
}

// Run implements the Executor of the controller.
func (p *replayed) Run(_ context.Context, _ plan.Workload, steps []plan.Action, d hold.Decision) ([]plan.Receipt, error) {
	p.Plan, p.Lease, p.Need, p.Limited = plan.Notation(steps), d.Record, d.Need, !d.DisruptBefore.IsZero()
	return nil, shift(p.T, "writes", &p.learned.acted)
}

// Group implements the Reporter of the controller.
func (p *replayed) Group(group.Snapshot, []plan.Action, []plan.Receipt) (bool, time.Duration) {
	return false, 0
}

// ReplicasOverwritten implements the Reporter of the controller.
func (p *replayed) ReplicasOverwritten(plan.Key, string) {}

// Forget is called when the controller forgets the group.
func (p *replayed) Forget(plan.Key) { p.Forgotten = true }

// silentCalls are calls and traces that do nothing.
type silentCalls struct{}

func (silentCalls) Show(context.Context, plan.Key, plan.Rollouts) {}
func (silentCalls) Forget(plan.Key)                               {}
