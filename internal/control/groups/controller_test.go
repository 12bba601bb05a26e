package groups_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/control/contest"
	"github.com/lockstep-dev/lockstep/internal/control/groups"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

var store = plan.Key{Namespace: "team", Name: "store"}

// world is the observer, the executor and the reporter of a controller.
type world struct {
	unmanaged    bool
	cached, live group.Snapshot
	meanwhile    *group.Snapshot // the caches after the first read
	changed      bool            // StatefulSets differ from the caches
	verifyFails  error
	verifyTakes  time.Duration
	lookFails    error
	runFails     error
	due          time.Duration // when a delayed Event becomes due

	contests    *contest.Log // adds contests to snapshots, if not nil
	done        []plan.Receipt
	writer      string // the field manager that overwrites replicas
	writerFails error
	writerReads int
	overwritten []string // zones

	facts         []diagnosis.Fact // about each pod
	diagnoseFails error
	diagnosed     int

	liveReads int
	reads     int            // of any kind
	assumed   group.Snapshot // that was compared with the StatefulSets
	under     []int          // transitions of the holds of live reads
	ran       []string       // plans with the decision that covers them
	before    time.Time      // until when the last one counts as confirmed
	reported  []string
	forgotten []string
}

func (w *world) Managed(string) bool { return !w.unmanaged }
func (w *world) Cached(plan.Key) group.Snapshot {
	if w.reads > 0 && w.meanwhile != nil {
		return *w.meanwhile
	}
	return w.filled(w.cached)
}

func (w *world) filled(s group.Snapshot) group.Snapshot {
	if w.contests == nil {
		return s
	}
	s = fixture.Clone(s)
	w.contests.Fill(&s)
	return s
}

func (w *world) Live(context.Context, plan.Key) (group.Snapshot, error) {
	w.liveReads, w.reads = w.liveReads+1, w.reads+1
	return w.live, w.lookFails
}

func (w *world) LiveUnder(_ context.Context, _ plan.Key, held group.Hold) (group.Snapshot, error) {
	w.liveReads, w.reads = w.liveReads+1, w.reads+1
	w.under = append(w.under, held.Transitions)
	return w.live, w.lookFails
}

func (w *world) SameDesiredState(_ context.Context, assumed group.Snapshot) (bool, error) {
	w.reads++
	w.assumed = assumed
	time.Sleep(w.verifyTakes)
	return !w.changed, w.verifyFails
}

func (w *world) Diagnose(context.Context, string, plan.Pod) ([]diagnosis.Fact, error) {
	w.diagnosed++
	return w.facts, w.diagnoseFails
}

func (w *world) WriterOfReplicas(context.Context, string, string, string) (string, error) {
	w.writerReads++
	return w.writer, w.writerFails
}

func (w *world) ReplicasOverwritten(_ plan.Key, zone string) {
	w.overwritten = append(w.overwritten, zone)
}

func (w *world) Run(_ context.Context, _ plan.Workload, steps []plan.Action, d hold.Decision) ([]plan.Receipt, error) {
	w.ran, w.before = append(w.ran, reported(steps)+" ("+fixture.Decision(d)+")"), d.DisruptBefore
	return w.done, w.runFails
}

func (w *world) Group(_ group.Snapshot, steps []plan.Action, _ []plan.Receipt) (bool, time.Duration) {
	w.reported = append(w.reported, reported(steps))
	return false, w.due
}

// memory records calls of Forget.
type memory struct {
	*world
	name string
}

func (m memory) Forget(key plan.Key) { m.forgotten = append(m.forgotten, m.name+" "+key.String()) }

func (memory) Show(context.Context, plan.Key, plan.Rollouts) {}

func reported(steps []plan.Action) string {
	return strings.ReplaceAll(plan.Notation(steps), "\n", "; ")
}

// newController returns a controller with its world, and its log.
func newController(w *world) (*groups.Controller, *logtest.Hook) {
	log, lines := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	return &groups.Controller{
		Observer: w, Executor: w, Reporter: memory{w, "reporter"}, Messages: memory{w, "messages"}, Preparations: memory{w, "preparations"}, Traces: memory{w, "traces"}, Fresh: freshness.NewLog(memory{w, "holds"}), Contests: contest.NewLog(), Log: log,
	}, lines
}

const (
	outdated = "zone-a rev=2 current=1\n zone-a-0 ready@1\n"
	settled  = "zone-a rev=2\n zone-a-0 ready@2\n"
	starting = "zone-a rev=2\n zone-a-0 starting@2\n"
	rolling  = "hold rollout/zone-a\n"
	lapsed   = "hold eviction/zone-b\n intent zone-b-0 granted known=70s\n"
	broken   = "zone-b rev=2\n zone-b-0 starting@2\n"
	other    = "zone-b rev=2\n zone-b-0 ready@2\n"
)

func TestReconcile(t *testing.T) {
	const rollsOn = "delete zone-a-0 of zone-a because OutdatedRevision (write rollout/zone-a with zone-a-0)"
	for sentence, tc := range map[string]struct {
		world             world
		cached            string
		live              string
		meanwhile         string
		reportStaleCaches bool
		want              loop.Outcome
		liveReads         int
		ran               []string
		reported          []string
		forgets           bool
	}{
		"a namespace that is not managed is forgotten": {world: world{unmanaged: true}, cached: outdated, want: loop.Gone(), forgets: true},
		"a group that no longer exists is forgotten":   {cached: "", want: loop.Gone(), forgets: true},
		"a group whose Lease remains is not":           {cached: "hold free", want: loop.Done(), ran: []string{" (remove)"}, reported: []string{""}},
		"a stale cache is read again later":            {cached: outdated, reportStaleCaches: true, want: loop.After(time.Second)},
		"at the goal there is no wait":                 {cached: settled, want: loop.Done(), ran: []string{" (as it is)"}, reported: []string{""}},
		"a hold is taken after a live read, by the plan made from it": {
			cached: outdated, live: "live\nzone-a rev=3 current=1\n zone-a-0 ready@1 version=20\n", want: loop.After(hold.RenewEvery), liveReads: 1,
			ran: []string{rollsOn}, reported: []string{"delete zone-a-0 of zone-a because OutdatedRevision"},
		},
		"a StatefulSet was paused, which the caches do not show yet": {
			world: world{changed: true}, cached: rolling + outdated, live: "live\n" + rolling + "zone-a rev=2 current=1 paused\n zone-a-0 ready@1\n",
			want: loop.After(time.Second), liveReads: 1,
			ran: []string{"release rollout/zone-a; wait zone-a because Paused (write free)"}, reported: []string{"release rollout/zone-a; wait zone-a because Paused"},
		},
		"a zone was paused while StatefulSets were read, and the caches show it already": {
			cached: rolling + outdated, meanwhile: rolling + "zone-a rev=2 current=1 paused\n zone-a-0 ready@1\n", live: "live\n" + rolling + "zone-a rev=2 current=1 paused\n zone-a-0 ready@1\n",
			want: loop.After(time.Second), liveReads: 1,
			ran: []string{"release rollout/zone-a; wait zone-a because Paused (write free)"}, reported: []string{"release rollout/zone-a; wait zone-a because Paused"},
		},
		"another process took the hold during the read of the StatefulSets": {
			cached: rolling + outdated, meanwhile: "hold rollout/zone-a inherited\n" + outdated, live: "live\nhold rollout/zone-a inherited\n" + settled,
			want: loop.After(time.Second), liveReads: 1,
			ran: []string{"release rollout/zone-a (write free)"}, reported: []string{"release rollout/zone-a"},
		},
		"a StatefulSet was paused during the live read": {
			world: world{changed: true}, cached: outdated, live: "live\n" + outdated, want: loop.After(time.Second), liveReads: 1,
		},
		"a pod of another zone broke during the read of the StatefulSets": {
			cached: rolling + outdated + other, meanwhile: rolling + outdated + broken, want: loop.After(hold.RenewEvery),
			ran:      []string{"wait zone-a because OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); wait zone-b because PodStarting zone-b-0 (as it is)"},
			reported: []string{"wait zone-a because OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); wait zone-b because PodStarting zone-b-0"},
		},
		"a disruption that the caches rule out after the live read is not carried out": {
			cached: outdated, live: "live\n" + outdated, meanwhile: starting, want: loop.After(time.Second), liveReads: 1,
		},
		"a lapsed grant allows a disruption after its live read": {
			cached: lapsed + outdated + other, live: "live\n" + lapsed + outdated + other, want: loop.After(hold.RenewEvery), liveReads: 1,
			ran:      []string{"delete zone-a-0 of zone-a because OutdatedRevision; end intent of zone-b-0 because EvictionLapsed (write rollout/zone-a with zone-a-0)"},
			reported: []string{"delete zone-a-0 of zone-a because OutdatedRevision; end intent of zone-b-0 because EvictionLapsed"},
		},
		"a live read that shows no need causes no action": {
			cached: outdated, live: "live\n" + settled, want: loop.After(time.Second), liveReads: 1, ran: []string{" (as it is)"}, reported: []string{""},
		},
		"a live read that shows another holder causes no action": {
			cached: outdated, live: "live\nhold eviction/zone-b\n" + outdated + "zone-b rev=2\n zone-b-0 terminating@2\n", want: loop.After(time.Second), liveReads: 1,
			ran:      []string{"queue rollout/zone-a; wait zone-a because GroupHeld zone-b (eviction/zone-b); wait zone-b because PodTerminating zone-b-0 (write eviction/zone-b)"},
			reported: []string{"queue rollout/zone-a; wait zone-a because GroupHeld zone-b (eviction/zone-b); wait zone-b because PodTerminating zone-b-0"},
		},
		"under its own hold the rollout continues without a live read": {
			cached: rolling + outdated, want: loop.After(hold.RenewEvery), ran: []string{rollsOn}, reported: []string{"delete zone-a-0 of zone-a because OutdatedRevision"},
		},
		"a hold in use is renewed in time": {
			cached: "hold rollout/zone-a renewed 5s ago\n" + starting, want: loop.After(hold.RenewEvery - 5*time.Second),
			ran: []string{"wait zone-a because PodStarting zone-a-0 (as it is)"}, reported: []string{"wait zone-a because PodStarting zone-a-0"},
		},
		"a hold that was renewed is renewed again": {
			cached: "hold rollout/zone-a renewed 20s ago\n" + starting, want: loop.After(hold.RenewEvery),
			ran: []string{"wait zone-a because PodStarting zone-a-0 (write rollout/zone-a)"}, reported: []string{"wait zone-a because PodStarting zone-a-0"},
		},
		"a wait that ends by time sets the time": {
			cached: "zone-a rev=2 minReady=10s\n zone-a-0 ready@2 for=4s\n", want: loop.After(6 * time.Second),
			ran: []string{"wait zone-a because PodNotYetAvailable zone-a-0 (as it is)"}, reported: []string{"wait zone-a because PodNotYetAvailable zone-a-0"},
		},
		"a pod that stays is notified again in time": {
			cached: "zone-a rev=2 mirror=web scale=1 delay=1h\n zone-a-0 ready@2 ip=10.0.0.1\n notified stay zone-a-0 again=7m\n", want: loop.After(7 * time.Minute),
			ran: []string{" (as it is)"}, reported: []string{""},
		},
		"the end of a delay sets the time": {
			cached: "hold free\n acknowledged zone-a 0 to 1 59m30s ago\nzone-a rev=2 mirror=web scale=0 delay=1h\n zone-a-0 ready@2 ip=10.0.0.1\n notified leave zone-a-0 ago=1h\n", want: loop.After(30 * time.Second),
			ran: []string{"wait zone-a because DownscaleDelayed zone-a-0 (as it is)"}, reported: []string{"wait zone-a because DownscaleDelayed zone-a-0"},
		},
		"the earlier of renewal and wait counts": {
			cached: "hold rollout/zone-a renewed 18s ago\nzone-a rev=2 minReady=10s\n zone-a-0 ready@2 for=4s\n", want: loop.After(2 * time.Second),
			ran: []string{"wait zone-a because PodNotYetAvailable zone-a-0 (as it is)"}, reported: []string{"wait zone-a because PodNotYetAvailable zone-a-0"},
		},
		"a hold from outside is shown until it expires": {
			cached: "hold manual/x renewed 5s ago\n" + settled, want: loop.After(55 * time.Second), ran: []string{" (as it is)"}, reported: []string{""},
		},
		"an expired hold from outside sets no time": {
			cached: "hold manual/x renewed 5m ago\n" + settled, want: loop.Done(), ran: []string{" (as it is)"}, reported: []string{""},
		},
		"a deleted group waits until a hold from outside expires": {
			cached: "hold manual/x renewed 5s ago\n", want: loop.After(55 * time.Second), ran: []string{" (as it is)"}, reported: []string{""},
		},
		"an Event that is held back sets the time": {
			world: world{due: time.Second}, cached: rolling + starting, want: loop.After(time.Second),
			ran: []string{"wait zone-a because PodStarting zone-a-0 (as it is)"}, reported: []string{"wait zone-a because PodStarting zone-a-0"},
		},
		"after a release the next reconcile is caused by its event": {
			cached: rolling + settled, want: loop.Done(), ran: []string{"release rollout/zone-a (write free)"}, reported: []string{"release rollout/zone-a"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := tc.world
				w.cached, w.live = today(tc.cached), today(tc.live)
				if tc.meanwhile != "" {
					w.meanwhile = new(today(tc.meanwhile))
				}
				c, _ := newController(&w)
				if tc.reportStaleCaches {
					c.Fresh.PodMoved(store, "zone-a-0", 10)
				}
				got, err := c.Reconcile(t.Context(), store)
				if err != nil || got != tc.want {
					t.Errorf("got %s, %v, want %s", got, err, tc.want)
				}
				if w.liveReads != tc.liveReads {
					t.Errorf("%d live reads, want %d", w.liveReads, tc.liveReads)
				}
				if diff := cmp.Diff(tc.ran, w.ran); diff != "" {
					t.Errorf("carried out (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.reported, w.reported); diff != "" {
					t.Errorf("reported (-want +got):\n%s", diff)
				}
				forgotten := []string(nil)
				if tc.forgets {
					forgotten = []string{"reporter team/store", "messages team/store", "preparations team/store", "traces team/store", "holds team/store"}
				}
				if diff := cmp.Diff(forgotten, w.forgotten); diff != "" {
					t.Errorf("forgotten (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// today returns a snapshot whose time is now.
func today(situation string) group.Snapshot {
	s := fixture.MustParse(situation)
	later := time.Since(s.Now)
	s.Now, s.Hold.Renewed = s.Now.Add(later), s.Hold.Renewed.Add(later)
	for zone, at := range s.Hold.Downscaled {
		s.Hold.Downscaled[zone] = at.Add(later)
	}
	for _, z := range s.Zones {
		for i := range z.Pods {
			z.Pods[i].ReadySince = z.Pods[i].ReadySince.Add(later)
		}
		for uid, t := range z.Notifications {
			t.Ready = t.Ready.Add(later)
			if t.At, t.Since = t.At.Add(later), t.Since.Add(later); !t.Again.IsZero() {
				t.Again = t.Again.Add(later)
			}
			z.Notifications[uid] = t
		}
		for i := range s.Hold.Acknowledged[z.Name].OrdinalRanges {
			stretch := &s.Hold.Acknowledged[z.Name].OrdinalRanges[i]
			stretch.Since = stretch.Since.Add(later)
		}
	}
	return s
}

func TestForgetDropsTheStateOfAGroup(t *testing.T) {
	w := world{unmanaged: true, cached: fixture.MustParse(outdated)}
	c, _ := newController(&w)
	c.Fresh.PodMoved(store, "zone-a-0", 10)
	if _, err := c.Reconcile(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if reportStaleCaches, _ := c.Fresh.Behind(&w.cached); reportStaleCaches != "" {
		t.Errorf("still waits for %s", reportStaleCaches)
	}
}

// Evictions of its pods create the Lease.
func TestABudgetWithoutALeaseIsNotReconciled(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	w := world{cached: fixture.MustParse(outdated)}
	w.cached.Key = key
	c, _ := newController(&w)
	got, err := c.Reconcile(t.Context(), key)
	if err != nil || got != loop.Gone() || len(w.ran) > 0 {
		t.Errorf("got %s, %v, ran %q, want %s", got, err, w.ran, loop.Gone())
	}
}

// Its webhooks still serve, and a granted eviction lapses by how long it has been known.
func TestResignKeepsObservationsAndWrites(t *testing.T) {
	w := world{cached: fixture.MustParse(outdated)}
	c, _ := newController(&w)
	c.Fresh.PodMoved(store, "zone-a-0", 10)
	c.Resign(store)
	if slices.Contains(w.forgotten, "holds "+store.String()) || !slices.Contains(w.forgotten, "messages "+store.String()) {
		t.Errorf("forgotten: %q", w.forgotten)
	}
	if reportStaleCaches, _ := c.Fresh.Behind(&w.cached); reportStaleCaches == "" {
		t.Error("the deletion is not awaited any more")
	}
}

// The caches must show the last live read before a plan uses them.
func TestCachesMustCatchUpWithTheLastLiveRead(t *testing.T) {
	w := world{cached: fixture.MustParse(outdated), live: fixture.MustParse("live\nzone-a rev=2 version=20\n zone-a-0 ready@2 version=20\n")}
	w.live.PodsAt, w.live.ZonesAt, w.cached.PodsAt, w.cached.ZonesAt = 20, 20, 10, 10
	c, _ := newController(&w)
	for range 3 {
		if got, err := c.Reconcile(t.Context(), store); err != nil || got != loop.After(time.Second) {
			t.Errorf("got %s, %v", got, err)
		}
	}
	if w.liveReads != 1 || len(w.ran) != 1 {
		t.Errorf("%d live reads, %d plans, want one of each until the caches have caught up", w.liveReads, len(w.ran))
	}
	w.cached = fixture.Clone(w.live)
	w.cached.Live = false
	if got, err := c.Reconcile(t.Context(), store); err != nil || got != loop.Done() {
		t.Errorf("got %s, %v", got, err)
	}
}

// A user has removed the label of the Lease, so the caches show no Lease.
func TestRolloutContinuesIfOnlyALiveReadShowsItsLease(t *testing.T) {
	const zones = "zone-a rev=3 current=2\n zone-a-0 ready@2\nzone-b rev=3 current=2\n zone-b-0 ready@3\n zone-b-1 ready@2\n"
	w := world{cached: fixture.MustParse(zones), live: fixture.MustParse("live\nhold rollout/zone-b inherited\n" + zones)}
	c, _ := newController(&w)
	if _, err := c.Reconcile(t.Context(), store); err != nil || len(w.ran) != 1 {
		t.Errorf("ran %q, %v", w.ran, err)
	}
}

// The StatefulSets are compared with what the plan assumes, and not with newer caches. The executor knows how long the
// plan counts as confirmed.
func TestAPlanIsConfirmedByItsAssumptions(t *testing.T) {
	for from, text := range map[string]string{"caches": rolling + outdated, "a live read": outdated} {
		synctest.Test(t, func(t *testing.T) {
			w, began := world{cached: today(text), live: today("live\n" + text), verifyTakes: 2 * time.Second}, time.Now()
			w.live.Zones[0].Generation, w.cached.Zones[0].Generation = 5, 4
			c, _ := newController(&w)
			if _, err := c.Reconcile(t.Context(), store); err != nil || len(w.ran) != 1 {
				t.Fatalf("ran %q, %v", w.ran, err)
			}
			if want := map[bool]int64{true: 5, false: 4}[from != "caches"]; w.assumed.Zones[0].Generation != want {
				t.Errorf("compared with generation %d, want that of %s", w.assumed.Zones[0].Generation, from)
			}
			if want := began.Add(hold.ConfirmedFor); !w.before.Equal(want) {
				t.Errorf("confirmed until %s, want %s", w.before, want)
			}
		})
	}
}

func TestARecordDoesNotTimeOutWhileItsPlanIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lowers = "hold downscale/zone-a\n downscale zone-a from 2 to 1 admitted own\nzone-a rev=1 force=1\n zone-a-0 ready@1 zone-a-1 ready@1\n"
		w := world{cached: today(lowers), meanwhile: new(today(lowers))}
		w.cached.Hold.Downscale.Since, w.meanwhile.Hold.Downscale.Since = w.cached.Now, w.cached.Now
		w.meanwhile.Now = w.cached.Now.Add(6 * time.Second)
		c, _ := newController(&w)
		_, err := c.Reconcile(t.Context(), store)
		if err != nil || len(w.ran) != 1 || !strings.HasPrefix(w.ran[0], "set zone-a from 2 to 1") {
			t.Errorf("ran %q, %v, want set zone-a from 2 to 1", w.ran, err)
		}
	})
}

// While the StatefulSets are read, the live read of a webhook shows this process what its caches do not show yet.
func TestAPlanIsNotCarriedOutOnCachesThatAreBehindALaterLiveRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{cached: today("pods at 11\n" + rolling + outdated + other), live: today("live\npods at 12\n" + rolling + outdated + "zone-b rev=2\n zone-b-0 starting@2 version=12\n"), verifyTakes: 2 * time.Second}
		w.meanwhile = &w.cached
		c, _ := newController(&w)
		go func() {
			time.Sleep(time.Second)
			c.Fresh.ReadLive(&w.live)
		}()
		if _, err := c.Reconcile(t.Context(), store); err != nil || w.liveReads != 1 {
			t.Errorf("ran %q after %d live reads, %v, want one live read", w.ran, w.liveReads, err)
		}
	})
}

func TestCachesThatNeverConfirmALiveReadAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{}
		c, _ := newController(&w)
		for range 10 {
			w.cached, w.live = today("zone-a rev=2\n zone-a-0 ready@1\nzone-b rev=2\n zone-b-0 ready@1\n"), today("live\nzone-a rev=2\n zone-a-0 ready@2\nzone-b rev=2\n zone-b-0 ready@1\n")
			if _, err := c.Reconcile(t.Context(), store); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		const want = "wait zone-a because CacheStale; wait zone-b because CacheStale"
		if len(w.ran) > 0 || len(w.reported) == 0 || w.reported[0] != want {
			t.Errorf("ran %q, reported %q", w.ran, w.reported)
		}
	})
}

// The write after a live read compares a cached Lease. A Lease that records a downscale is read
// live, because calls to pods compare nothing.
func TestLiveReadIncludesTheLeaseIfNoWriteComparesIt(t *testing.T) {
	for held, under := range map[string]int{
		"":                          0,
		"hold free transitions=7\n": 1,
		"hold rollout/zone-b\n":     1,
		"hold free transitions=7\n downscale zone-a from 2 to 1 undoing\n": 0,
	} {
		t.Run(held, func(t *testing.T) {
			w := &world{cached: fixture.MustParse(held + outdated), live: fixture.MustParse("live\n" + held + outdated)}
			c, _ := newController(w)
			if _, err := c.Reconcile(t.Context(), store); err != nil {
				t.Fatal(err)
			}
			if w.liveReads != 1 || len(w.under) != under {
				t.Errorf("%d live reads, %d of them under the known hold, want 1 and %d", w.liveReads, len(w.under), under)
			}
			if under > 0 && w.under[0] != w.cached.Hold.Transitions {
				t.Errorf("read under the hold of %d transitions, the caches show %d", w.under[0], w.cached.Hold.Transitions)
			}
		})
	}
}

func TestPlanThatViolatesAnInvariantIsNotCarriedOut(t *testing.T) {
	// The planner does not create such a plan. The planner and the invariants treat two pods of
	// one name differently.
	w := world{cached: twins()}
	c, _ := newController(&w)
	got, err := c.Reconcile(t.Context(), store)
	violation := &invariant.Violation{}
	if !errors.As(err, &violation) || reason.ClassOf(err) != reason.Human || got != loop.Done() {
		t.Fatalf("got %s, %v of class %v, want a violation of class human", got, err, reason.ClassOf(err))
	}
	if !strings.HasPrefix(err.Error(), `plan "delete zone-a-0 of zone-a because`) {
		t.Errorf("the error does not contain the plan: %v", err)
	}
	if len(w.ran) != 0 {
		t.Errorf("carried out: %v", w.ran)
	}
	if diff := cmp.Diff([]string{"wait zone-a because InvariantViolated (" + violation.Name + ")"}, w.reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

func twins() group.Snapshot {
	s := fixture.MustParse(rolling + "zone-a rev=2 current=1 budget=2\n zone-a-0 ready@1 zone-a-1 ready@2\n")
	twin := s.Zones[0].Pods[0]
	twin.UID, twin.Revision = "twin", "2"
	s.Zones[0].Pods = append([]plan.Pod{twin}, s.Zones[0].Pods...)
	return s
}

func TestReconcileReturnsErrors(t *testing.T) {
	refused := errors.New("no route to host")
	t.Run("a live read that fails is followed by no action", func(t *testing.T) {
		w := world{cached: fixture.MustParse(outdated), lookFails: refused}
		c, _ := newController(&w)
		_, err := c.Reconcile(t.Context(), store)
		if err == nil || err.Error() != "read team/store live: no route to host" || len(w.ran)+len(w.reported) != 0 {
			t.Errorf("got %v, carried out %v, reported %v", err, w.ran, w.reported)
		}
	})
	t.Run("a read of the StatefulSets that fails is followed by no action", func(t *testing.T) {
		w := world{cached: today(rolling + outdated), verifyFails: refused}
		c, _ := newController(&w)
		_, err := c.Reconcile(t.Context(), store)
		if err == nil || err.Error() != "read the StatefulSets of team/store: no route to host" || len(w.ran)+len(w.reported) != 0 {
			t.Errorf("got %v, carried out %v, reported %v", err, w.ran, w.reported)
		}
	})
	t.Run("a plan that fails is reported, and its hold still renewed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := world{cached: today(rolling + outdated), runFails: reason.WithClass(reason.Moved, refused)}
			c, _ := newController(&w)
			got, err := c.Reconcile(t.Context(), store)
			if !errors.Is(err, refused) || reason.ClassOf(err) != reason.Moved || got != loop.After(hold.RenewEvery) || len(w.reported) != 1 {
				t.Errorf("got %s, %v, reported %v", got, err, w.reported)
			}
		})
	})
}

func TestEachPlanIsLoggedOnce(t *testing.T) {
	w := world{cached: fixture.MustParse(rolling + outdated)}
	c, lines := newController(&w)
	if _, err := c.Reconcile(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if len(lines.Entries) != 1 {
		t.Fatalf("%d lines", len(lines.Entries))
	}
	want := logrus.Fields{
		"namespace": "team", "group": "store", "holder": "rollout/zone-a", "live": false,
		"plan": "delete zone-a-0 of zone-a because OutdatedRevision",
	}
	if diff := cmp.Diff(want, lines.LastEntry().Data); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Every plan is checked before it is carried out, whatever the caches show. A plan that disrupts
// pods comes from a live read unless this process has the hold.
func TestOnlyCheckedPlansAreCarriedOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := world{cached: draw.Odd().Draw(rt, "cached")}
		w.live = fixture.Clone(w.cached)
		w.live.Live = true
		w.live.Key, w.cached.Key = store, store
		c, _ := newController(&w)
		c.Log.SetOutput(io.Discard)
		j := &judge{world: &w}
		c.Executor = j
		if _, err := c.Reconcile(t.Context(), store); err != nil && reason.ClassOf(err) != reason.Human {
			rt.Error(err)
		}
		if j.wrong != "" {
			rt.Error(j.wrong)
		}
	})
}

// judge is an executor that checks its plans again.
type judge struct {
	*world
	wrong string
}

func (j *judge) Run(_ context.Context, w plan.Workload, steps []plan.Action, d hold.Decision) ([]plan.Receipt, error) {
	s := *w.(*group.Snapshot) //nolint:errcheck // the controller of groups carries out plans of groups
	if broken := invariant.Check(s, steps, d); broken != nil {
		j.wrong = broken.Error()
	}
	if d.Need == hold.ReadLive {
		j.wrong = "a plan that needs a live read is carried out"
	}
	if plan.Disrupts(steps) && !s.Live && !s.Hold.Own {
		j.wrong = "pods are disrupted from caches under the hold of another process: " + reported(steps)
	}
	return nil, nil
}

func TestReconcileSpanContainsTheDecisionAndALinkToTheRollout(t *testing.T) {
	w := &world{cached: fixture.MustParse(rolling + "zone-a rev=2 current=1\n zone-a-0 starting@2 zone-a-1 ready@1\n")}
	w.cached.Hold.Rollouts.Current = plan.RolledGroup{Since: fixture.Now(), Trace: "00-11111111111111111111111111111111-2222222222222222-01"}
	c, _ := newController(w)
	spans := tracetest.NewSpanRecorder()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("t").Start(t.Context(), "reconcile")
	if _, err := c.Reconcile(ctx, w.cached.Key); err != nil {
		t.Fatal(err)
	}
	span.End()
	got := spans.Ended()[0]
	if len(got.Links()) != 1 || got.Links()[0].SpanContext.SpanID().String() != "2222222222222222" {
		t.Fatalf("links %+v", got.Links())
	}
	for _, want := range []attribute.KeyValue{
		attribute.String("lockstep.decision", "wait zone-a because PodStarting zone-a-0 (1 of at most 1 down)"),
		attribute.String("lockstep.reason", "PodStarting"), attribute.String("lockstep.holder", "rollout/zone-a"),
	} {
		if !slices.Contains(got.Attributes(), want) || !slices.Contains(got.Links()[0].Attributes, want) {
			t.Errorf("want %v in the span, which has %v, and in its link, which has %v", want, got.Attributes(), got.Links()[0].Attributes)
		}
	}
}
