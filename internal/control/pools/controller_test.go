package pools

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// world is a StatefulCluster with the parts that a Controller uses.
type world struct {
	cached, live pool.Snapshot
	changes      bool          // the object changes before the last read
	slow         time.Duration // of a live read
	until        time.Time     // when the disruptions of the last plan may no longer begin
	unreadable   bool
	holdChanged  bool  // since the snapshot
	holdFails    error // of reading the hold again
	lost         int   // identities
	fails        error // of the writes
	plans        []string
	reads        []string
	reported     []string
	forgotten    int
	traces       exported
}

var key = plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}

func (w *world) Cached(plan.Key) pool.Snapshot { return w.cached }

func (w *world) Live(context.Context, plan.Key) (pool.Snapshot, error) {
	w.reads = append(w.reads, "live")
	time.Sleep(w.slow)
	if w.unreadable {
		return pool.Snapshot{}, errors.New("unreachable")
	}
	return w.live, nil
}

func (w *world) Lost(_ plan.Key, identities int) { w.lost += identities }

func (w *world) SameDesiredState(context.Context, pool.Snapshot) (bool, error) {
	w.reads = append(w.reads, "object")
	return !w.changes, nil
}

func (w *world) SameHold(context.Context, pool.Snapshot) (bool, error) {
	w.reads = append(w.reads, "hold")
	return !w.holdChanged && w.holdFails == nil, w.holdFails
}

func (w *world) Run(_ context.Context, _ plan.Workload, steps []plan.Action, d hold.Decision) ([]plan.Receipt, error) {
	text := plan.Notation(steps)
	if d.Need == hold.Write {
		text += " under " + string(d.Record.Holder)
	}
	w.plans, w.until = append(w.plans, text), d.DisruptBefore
	var done []plan.Receipt
	for _, step := range steps {
		done = append(done, plan.Receipt{Step: step, Err: w.fails})
	}
	return done, w.fails
}

func (w *world) Pool(_ *pool.Snapshot, steps []plan.Action, _ []plan.Receipt) (bool, time.Duration) {
	w.reported = append(w.reported, plan.Notation(steps))
	return false, 0
}

func (w *world) Forget(plan.Key) { w.forgotten++ }

// exported are the records of updates whose spans were exported.
type exported struct{ records []plan.Rollouts }

func (e *exported) Show(_ context.Context, _ plan.Key, r plan.Rollouts) {
	e.records = append(e.records, r)
}

func (e *exported) Forget(plan.Key) { e.records = nil }

// reconcile reconciles the StatefulCluster once.
func (w *world) reconcile(t *testing.T, managed bool, fresh *freshness.Log) error {
	t.Helper()
	_, err := w.controller(managed, fresh).Reconcile(t.Context(), key)
	return err
}

func (w *world) controller(managed bool, fresh *freshness.Log) *Controller {
	log := logrus.New()
	log.Out = io.Discard
	return &Controller{Observer: w, Managed: func(string) bool { return managed }, Executor: w, Reporter: w, Traces: &w.traces, Fresh: fresh, Log: log, DryRun: true}
}

// observed returns a StatefulCluster of that many replicas with Ready pods.
func observed(live bool, replicas int, pods ...string) pool.Snapshot {
	s := pool.Snapshot{
		Key: key, Now: time.Now(), Live: live, Object: pool.Object{UID: "u", Hash: "1", Replicas: replicas}, Revisions: []pool.Revision{{Name: "1", Hash: "1", Number: 1}}, ObjectsAt: 20, PodsAt: 20, ClaimsAt: 20,
		Draw: func() pool.ID { return "new" },
	}
	for _, id := range pods {
		s.Pods = append(s.Pods, pool.Pod{ID: pool.ID(id), Owner: "u", Scheduled: true, Pod: plan.Pod{Name: "db-" + id, UID: id, Version: 9, Revision: "1", Phase: plan.Ready}})
	}
	return s
}

// withSpentClaim adds a claim without a pod, which a plan marks after a live read.
func withSpentClaim(s pool.Snapshot) pool.Snapshot {
	s.Object.Claims = []pool.ClaimTemplate{{Name: "data"}}
	s.Revisions[0].Claims = s.Object.Claims
	s.Claims = append(s.Claims, pool.Claim{Name: "db-data-gone", UID: "c", Version: 8, ID: "gone", Template: "data", Pool: "u"})
	return s
}

// withNewPod adds a pod that waits for its claims.
func withNewPod(s pool.Snapshot) pool.Snapshot {
	s.Pods = append(s.Pods, pool.Pod{ID: "new", Owner: "u", Gated: true, Pod: plan.Pod{Name: "db-new", UID: "new", Version: 9, Revision: "1"}})
	return s
}

// drawing draws that identity for the next pod.
func drawing(id pool.ID, s pool.Snapshot) pool.Snapshot {
	s.Draw = func() pool.ID { return id }
	return s
}

// withNewTemplate changes the template to one that is not recorded.
func withNewTemplate(s pool.Snapshot) pool.Snapshot {
	s.Object.Hash, s.Object.Generation = "2", 2
	return s
}

func TestWhatAPlanIsMadeFrom(t *testing.T) {
	for sentence, tc := range map[string]struct {
		world     world
		unmanaged bool
		reads     []string
		plans     []string
		fails     bool
	}{
		"births need the caches alone": {
			world: world{cached: observed(false, 2, "a")}, plans: []string{"create 1 pods of db at 1: db-new"},
		},
		"an end of a pod needs a live read, and another read of the object": {
			world: world{cached: observed(false, 1, "a", "b"), live: observed(true, 1, "a", "b")},
			reads: []string{"live", "object"}, plans: []string{"delete db-a of db because ScaledDown under statefulcluster/db"},
		},
		"a live read may show that nothing is to do": {
			world: world{cached: observed(false, 1, "a", "b"), live: observed(true, 2, "a", "b")}, reads: []string{"live"}, plans: []string{""},
		},
		"if the object changes meanwhile, nothing is done": {
			world: world{cached: observed(false, 1, "a", "b"), live: observed(true, 1, "a", "b"), changes: true},
			reads: []string{"live", "object"}, plans: []string{""},
		},
		"a live read that fails is an error": {
			world: world{cached: observed(false, 1, "a", "b"), unreadable: true}, reads: []string{"live"}, fails: true,
		},
		"pods are completed although the live read fails": {
			world: world{cached: withSpentClaim(withNewPod(observed(false, 2, "a"))), unreadable: true}, reads: []string{"hold", "live"}, plans: []string{"complete db-new with data"}, fails: true,
		},
		"what the caches suffice for is done although the live read fails": {
			world: world{cached: withSpentClaim(withNewTemplate(withNewPod(observed(false, 2, "a")))), unreadable: true}, reads: []string{"hold", "live"},
			plans: []string{"complete db-new with data", "record revision 2 of db"}, fails: true,
		},
		"pods are completed before a live read": {
			world: world{cached: withSpentClaim(withNewPod(observed(false, 2, "a"))), live: observed(true, 2, "a", "new")}, reads: []string{"hold", "live"}, plans: []string{"complete db-new with data", ""},
		},
		"a pod is completed without a live read": {
			world: world{cached: withNewPod(observed(false, 2, "a"))}, reads: []string{"hold"}, plans: []string{"complete db-new"},
		},
		"a pod is not completed before a live read if the hold has changed: its place may be that of an identity that is handed over": {
			world: world{cached: withNewPod(observed(false, 2, "a")), live: observed(true, 2, "a", "b"), holdChanged: true}, reads: []string{"hold", "live"}, plans: []string{""},
		},
		"missing pods are created although the hold has changed, and none is completed": {
			world: world{cached: drawing("other", withNewPod(observed(false, 3, "a"))), holdChanged: true}, reads: []string{"hold"}, plans: []string{"create 1 pods of db at 1: db-other"},
		},
		"a pod is not completed before a live read if the hold cannot be read": {
			world: world{cached: withNewPod(observed(false, 2, "a")), live: withNewPod(observed(true, 2, "a")), holdFails: errors.New("timeout")}, reads: []string{"hold", "live"}, plans: []string{"complete db-new"},
		},
		"missing pods are created before a live read": {
			world: world{cached: withSpentClaim(observed(false, 2, "a")), unreadable: true}, plans: []string{"create 1 pods of db at 1: db-new"},
		},
		"a birth that is refused delays nothing else": {
			world: world{cached: withSpentClaim(observed(false, 2, "a")), live: withSpentClaim(observed(true, 2, "a")), fails: errors.New("quota")}, reads: []string{"live"},
			plans: []string{"create 1 pods of db at 1: db-new", "retire gone of db with 1 claims because IdentityLost"}, fails: true,
		},
		"a namespace that did not opt in is left alone": {world: world{cached: observed(false, 2, "a")}, unmanaged: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := tc.world
			err := w.reconcile(t, !tc.unmanaged, freshness.NewLog())
			if diff := cmp.Diff(tc.plans, w.plans); diff != "" || (err != nil) != tc.fails {
				t.Errorf("error %v, plans (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff(tc.reads, w.reads); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
			if (w.forgotten > 0) != tc.unmanaged {
				t.Errorf("forgotten %d times", w.forgotten)
			}
		})
	}
}

// A report without the waits of the plan would end them.
func TestBirthsBeforeALiveReadAreReportedWithThePlan(t *testing.T) {
	w := world{cached: withSpentClaim(observed(false, 2, "a")), live: withSpentClaim(observed(true, 2, "a", "new"))}
	if err := w.reconcile(t, true, freshness.NewLog()); err != nil || len(w.plans) != 1 || len(w.reported) != 1 || !strings.Contains(w.reported[0], "retire gone") {
		t.Errorf("error %v, plans %q, reported %q", err, w.plans, w.reported)
	}
}

// The new pod is completed as soon as the caches show it. Pods that end again and again put nothing off forever.
func TestALiveReadIsPutOffOnceAfterBirths(t *testing.T) {
	w := world{cached: withSpentClaim(observed(false, 2, "a")), unreadable: true}
	c := w.controller(true, freshness.NewLog())
	for turn, reads := range []int{0, 1, 1, 2} {
		again, err := c.Reconcile(t.Context(), key)
		if len(w.reads) != reads || len(w.plans) != turn+1 || (err != nil) != (turn%2 == 1) || err == nil && again != loop.After(hold.ReconcileAgainAfter) {
			t.Errorf("turn %d: error %v, reads %q, plans %q, the next look is %s", turn, err, w.reads, w.plans, again)
		}
	}
	_, putOff := c.Reconcile(t.Context(), key)
	c.Resign(key)
	if _, again := c.Reconcile(t.Context(), key); putOff != nil || again != nil {
		t.Errorf("errors %v and, once it leads again, %v", putOff, again)
	}
}

// A wait with the answer of the API server comes first, once a failure lasts. What only a person can end is reported at once.
func TestLostIdentitiesMakeTheNextPauseLonger(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*pool.Pod)
		fails  error
		want   int
	}{
		"a pod has ended":                        {func(p *pool.Pod) { p.Finished = true }, nil, 1},
		"a pod has ended, and its request fails": {func(p *pool.Pod) { p.Finished = true }, errors.New("broken"), 0},
		"a person asks for its replacement":      {func(p *pool.Pod) { p.Asked = true }, nil, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			seen := observed(true, 2, "a", "b")
			tc.change(&seen.Pods[0])
			w := &world{cached: seen, live: seen, fails: tc.fails}
			_ = w.reconcile(t, true, freshness.NewLog())
			if w.lost != tc.want || !strings.Contains(strings.Join(w.plans, ""), "delete db-a") {
				t.Errorf("%d identities are known to be lost, want %d, after %q", w.lost, tc.want, w.plans)
			}
		})
	}
}

func TestFailuresThatLastAreReportedWithTheirMessage(t *testing.T) {
	quota := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "db-new", errors.New("exceeded quota: q"))
	drawn := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "db-0123456789abcdef", errors.New("exceeded quota: q"))
	for sentence, tc := range map[string]struct {
		fails error
		after time.Duration
		want  string
	}{
		"a quota, soon":        {quota, time.Second, `wait db because RequestForbidden (pods "db-new" is forbidden: exceeded quota: q)`},
		"a quota, not at once": {quota, 0, ""},
		"a quota, without the identity that was drawn": {drawn, time.Second, `wait db because RequestForbidden (pods "db-ID" is forbidden: exceeded quota: q)`},
		"an API server that fails, later":              {apierrors.NewInternalError(errors.New("etcd")), 5 * time.Second, "wait db because RequestFailing (Internal error occurred: etcd)"},
		"what only a person can end, later": {
			reason.WithCode(reason.CreationPrevented, errors.New("a pod of that name exists")), 5 * time.Second, "wait db because CreationPrevented (a pod of that name exists)",
		},
		"what needs a person, at once": {reason.WithClass(reason.Human, errors.New("claim db-data-new exists")), 0, "wait db because RequestFailing (claim db-data-new exists)"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := world{cached: observed(false, 2, "a"), fails: tc.fails}
			c := w.controller(true, freshness.NewLog())
			_, _ = c.Reconcile(t.Context(), key)
			w.cached.Now = w.cached.Now.Add(tc.after)
			_, err := c.Reconcile(t.Context(), key)
			first, rest, _ := strings.Cut(w.reported[len(w.reported)-1], "\n")
			if tc.want == "" {
				first, rest = "", first
			}
			if first != tc.want || !strings.HasPrefix(rest, "create 1 pods") || err == nil {
				t.Errorf("error %v, reported %q, want %q first", err, w.reported, tc.want)
			}
			w.fails = nil
			if _, err := c.Reconcile(t.Context(), key); err != nil || strings.Contains(w.reported[len(w.reported)-1], "wait") {
				t.Errorf("error %v, reported %q after a success", err, w.reported)
			}
		})
	}
}

// Without a plan it would seem that nothing is to do.
func TestReadsThatFailAreReportedOnlyOnceTheyLast(t *testing.T) {
	w := world{cached: observed(false, 1, "a", "b"), unreadable: true}
	c := w.controller(true, freshness.NewLog())
	if _, err := c.Reconcile(t.Context(), key); err == nil || len(w.reported) > 0 {
		t.Errorf("error %v, reported %q at once", err, w.reported)
	}
	w.cached.Now = w.cached.Now.Add(5 * time.Second)
	_, err := c.Reconcile(t.Context(), key)
	if diff := cmp.Diff([]string{"wait db because RequestFailing (read team/statefulcluster/db live: unreachable)"}, w.reported); diff != "" || err == nil {
		t.Errorf("error %v, reported (-want +got):\n%s", err, diff)
	}
}

// The planner does not make such a plan. The planner and the invariants treat two pods of one name differently.
func TestPlanThatViolatesAnInvariantIsNotCarriedOut(t *testing.T) {
	twins := observed(true, 1, "a", "a")
	twins.Pods[1].UID, twins.Pods[1].Cost = "twin", -1
	w := world{cached: twins, live: twins}
	err := w.reconcile(t, true, freshness.NewLog())
	violation := &invariant.Violation{}
	if !errors.As(err, &violation) || reason.ClassOf(err) != reason.Human {
		t.Fatalf("got %v of class %v, want a violation of class human", err, reason.ClassOf(err))
	}
	if diff := cmp.Diff([]string{"wait db because InvariantViolated (" + violation.Name + ")"}, w.reported); diff != "" || len(w.plans) > 0 {
		t.Errorf("carried out %q, reported (-want +got):\n%s", w.plans, diff)
	}
}

// The world draws the same identity again, so the planner creates two pods of it.
func TestBirthsBeforeALiveReadThatViolateAnInvariantAreNotCarriedOut(t *testing.T) {
	w := world{cached: withSpentClaim(observed(false, 3, "a")), live: withSpentClaim(observed(true, 3, "a"))}
	err, violation := w.reconcile(t, true, freshness.NewLog()), &invariant.Violation{}
	if diff := cmp.Diff([]string{"retire gone of db with 1 claims because IdentityLost"}, w.plans); diff != "" || !errors.As(err, &violation) {
		t.Errorf("error %v, carried out (-want +got):\n%s", err, diff)
	}
}

// Pods may have ended since the first read.
func TestNoDisruptionBeginsLongAfterTheFirstRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := world{cached: observed(false, 1, "a", "b"), live: observed(true, 1, "a", "b"), slow: 8 * time.Second}
		if err := w.reconcile(t, true, freshness.NewLog()); err != nil {
			t.Fatal(err)
		}
		if got := w.until.Sub(began); got != hold.ConfirmedFor {
			t.Errorf("disruptions may begin until %s after the first read, want %s", got, hold.ConfirmedFor)
		}
	})
}

// The caches may show less than a live read did, and no event says when they have caught up.
func TestALiveReadIsFollowedByAnotherLook(t *testing.T) {
	for sentence, tc := range map[string]struct {
		world world
		want  loop.Outcome
	}{
		"the plan needed a live read": {world{cached: withSpentClaim(observed(false, 1, "a")), live: observed(true, 1, "a")}, loop.After(hold.ReconcileAgainAfter)},
		"its plan has failed, with a back-off": {
			world{cached: withSpentClaim(observed(false, 1, "a")), live: observed(true, 2, "a"), fails: errors.New("broken")}, loop.Done(),
		},
		"its plan has failed, and needs a person": {
			world{cached: withSpentClaim(observed(false, 1, "a")), live: observed(true, 2, "a"), fails: reason.WithClass(reason.Human, errors.New("taken"))}, loop.After(hold.ReconcileAgainAfter),
		},
		"the caches sufficed": {world{cached: observed(false, 1, "a")}, loop.Done()},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, err := tc.world.controller(true, freshness.NewLog()).Reconcile(t.Context(), key); !errors.Is(err, tc.world.fails) || got != tc.want {
				t.Errorf("error %v, the next look is %s, want %s", err, got, tc.want)
			}
		})
	}
}

// A hole is filled once: until the caches show the new pod, nothing is planned.
func TestNoPlanIsMadeBeforeTheCachesShowTheBirths(t *testing.T) {
	w, fresh := world{cached: observed(false, 2, "a")}, freshness.NewLog()
	fresh.PodCreated(key, "db-new", 21)
	if err := w.reconcile(t, true, fresh); err != nil || len(w.plans) > 0 {
		t.Errorf("error %v, plans %q", err, w.plans)
	}
	w.cached = observed(false, 2, "a", "new")
	w.cached.Pods[1].Version, w.cached.PodsAt = 21, 21
	if err := w.reconcile(t, true, fresh); err != nil || len(w.plans) != 1 {
		t.Errorf("error %v, plans %q", err, w.plans)
	}
}

// Silence would mean that nothing is to do.
func TestCachesThatDoNotCatchUpAreReported(t *testing.T) {
	w, fresh := world{cached: observed(false, 2, "a")}, freshness.NewLog()
	fresh.PodCreated(key, "db-new", 21)
	c := w.controller(true, fresh)
	began := w.cached.Now
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{{0, nil}, {4 * time.Second, nil}, {5 * time.Second, []string{"wait db because CacheStale"}}} {
		w.reported, w.cached.Now = nil, began.Add(step.after)
		if again, err := c.Reconcile(t.Context(), key); err != nil || again != loop.After(hold.ReconcileAgainAfter) {
			t.Errorf("error %v, the next look is %s", err, again)
		}
		if diff := cmp.Diff(step.want, w.reported); diff != "" {
			t.Errorf("reported after %s (-want +got):\n%s", step.after, diff)
		}
	}
}
