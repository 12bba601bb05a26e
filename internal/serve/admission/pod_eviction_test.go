package admission_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// says checks a verdict.
func says(t *testing.T, v admission.Verdict, code int, why reason.Code) {
	t.Helper()
	if v.Allowed != (code == http.StatusOK) || !v.Allowed && v.Code != code || v.Reason != why {
		t.Errorf("got %+v, want %d %s", v, code, why)
	}
}

// costs checks the number of requests to the API server.
func (c *evictable) costs(t *testing.T, groupReads, podReads, writes int) {
	t.Helper()
	if c.groupReads != groupReads || c.podReads != podReads || len(c.written) != writes {
		t.Errorf("%d reads of the group, %d of pods, %d writes; want %d, %d, %d", c.groupReads, c.podReads, len(c.written), groupReads, podReads, writes)
	}
}

func TestReadyPodIsEvictedAfterTheHoldRecordsIt(t *testing.T) {
	c := threeOfThree()
	says(t, c.judge(t, "zone-a-0"), http.StatusOK, reason.EvictionGranted)
	c.costs(t, 1, 0, 1)
	held := c.record
	if held.Holder != plan.EvictionOperation.For("zone-a") || len(held.Intents) != 1 {
		t.Fatalf("the hold is %+v", held)
	}
	want := plan.Intent{Zone: "zone-a", Pod: "zone-a-0", UID: "zone-a-0", Version: 10, Cause: reason.EvictionGranted, Since: c.group.Now}
	if diff := cmp.Diff(want, held.Intents[0]); diff != "" {
		t.Errorf("the intent (-want +got):\n%s", diff)
	}
}

func TestEvictionJoinsTheHoldOfItsZoneWithOneWrite(t *testing.T) {
	c := threeOfThree(fixture.Held(plan.EvictionOperation.For("zone-a")), budgeted(group.DisruptionBudget{Name: "two", Limit: 2}))
	for _, pod := range []string{"zone-a-0", "zone-a-1"} {
		says(t, c.judge(t, pod), http.StatusOK, reason.EvictionGranted)
	}
	c.costs(t, 0, 0, 2)
	if got := len(c.record.Intents); got != 2 {
		t.Errorf("%d pods are recorded", got)
	}
	says(t, c.judge(t, "zone-a-2"), http.StatusTooManyRequests, reason.PodDisruptionPending)
	c.costs(t, 0, 0, 2)
}

func TestEvictionRefusalBeginsWithThePredecessorsText(t *testing.T) {
	for sentence, tc := range map[string]struct {
		cluster *evictable
		code    int
		why     reason.Code
		says    string
	}{
		"a pod of another zone is down": {
			cluster(fixture.Zone("zone-a", "1", fixture.Pods("1")), fixture.Zone("zone-b", "1", fixture.Pod(0, plan.Starting, "1"))),
			http.StatusTooManyRequests, reason.OtherZoneUnavailable,
			"1 pod not ready in zone-b; eviction of zone-a-0 in zone-a is refused (OtherZoneUnavailable zone-b-0 of zone-b (PodStarting)): another zone of the group is unavailable",
		},
		"pods of another zone are missing": {
			cluster(fixture.Zone("zone-a", "1", fixture.Pods("1")), fixture.Zone("zone-b", "1", fixture.Pod(0, plan.Starting, "1"), fixture.Replicas(3))),
			http.StatusTooManyRequests, reason.OtherZoneUnavailable,
			"1 pod not ready, 2 pods unknown in zone-b; eviction of zone-a-0",
		},
		"another zone is rolled": {
			threeOfThree(fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-0"))),
			http.StatusTooManyRequests, reason.GroupHeld,
			"1 pod not ready in zone-b; eviction of zone-a-0 in zone-a is refused (GroupHeld zone-b-0 of zone-b (rollout/zone-b)): another operation holds the group",
		},
		"the limit is reached": {
			threeOfThree(fixture.Held(plan.EvictionOperation.For("zone-a"), fixture.IntentOf("zone-a-1"))),
			http.StatusTooManyRequests, reason.PodDisruptionPending, "1 pod not ready in zone-a; eviction of zone-a-0 in zone-a is refused (",
		},
		"the limit is 0": {
			threeOfThree(budgeted(group.DisruptionBudget{Name: "none"})),
			http.StatusForbidden, reason.EvictionsNotAllowed, "max unavailable = 0; eviction of zone-a-0 in zone-a is refused (EvictionsNotAllowed",
		},
		"two budgets cover it": {
			threeOfThree(budgeted(group.DisruptionBudget{Name: "one", Limit: 1}), budgeted(group.DisruptionBudget{Name: "two", Limit: 2})),
			http.StatusForbidden, reason.SeveralBudgets, "eviction of zone-a-0 in zone-a is refused (SeveralBudgets",
		},
		"the budget cannot be used": {
			threeOfThree(budgeted(group.DisruptionBudget{Name: "odd", Invalid: "it is odd"})),
			http.StatusForbidden, reason.BudgetInvalid, "eviction of zone-a-0 in zone-a is refused (BudgetInvalid",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := tc.cluster.judge(t, "zone-a-0")
			says(t, v, tc.code, tc.why)
			if !strings.HasPrefix(v.Message, tc.says) {
				t.Errorf("the message is %q, want %q", v.Message, tc.says)
			}
			if tc.cluster.groupReads+tc.cluster.podReads > 0 {
				t.Error("a refusal that caches can give costs a request")
			}
		})
	}
}

// An operation in the queue can renew its place, and another holder can renew its hold. So the end of
// neither refusal is known.
func TestRefusalStatesItsDurationOnlyIfItIsKnown(t *testing.T) {
	now := time.Now()
	waits := func(s *group.Snapshot) {
		s.Hold.Exists = true
		s.Hold.Waiting = []plan.Waiting{{Operation: plan.EvictionOperation, Zone: "zone-b", Since: now.Add(-time.Minute), LastSeen: now}}
	}
	foreign := func(s *group.Snapshot) {
		s.Hold = group.Hold{Hold: plan.Hold{Exists: true, Holder: "manual/maintenance", Renewed: now, Duration: time.Minute}}
	}
	granted := fixture.Granted("zone-a-0")
	for sentence, tc := range map[string]struct {
		hold fixture.Part
		want string
	}{
		"a place in the queue":   {waits, "; its place in the queue lapses in 3[45]s unless it asks again$"},
		"a hold from outside":    {foreign, "; the hold expires in (59s|1m0s) unless it is renewed$"},
		"a grant that may lapse": {fixture.Held(plan.EvictionOperation.For("zone-a"), granted), "; for at most 1m(9|10)s$"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree(tc.hold, func(s *group.Snapshot) { s.Now = now })
			if v := c.judge(t, "zone-a-0"); v.Allowed || !regexp.MustCompile(tc.want).MatchString(v.Message) {
				t.Errorf("the message is %q, want %q", v.Message, tc.want)
			}
		})
	}
}

func TestRefusedEvictionKeepsItsPlaceWithOneWriteInTenSeconds(t *testing.T) {
	rolled := fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-0"))
	c := threeOfThree(rolled)
	for range 3 {
		says(t, c.judge(t, "zone-a-0"), http.StatusTooManyRequests, reason.GroupHeld)
	}
	c.costs(t, 0, 0, 1)
	want := []plan.Waiting{{Operation: plan.EvictionOperation, Zone: "zone-a", Since: c.group.Now, LastSeen: c.group.Now}}
	if diff := cmp.Diff(want, c.record.Waiting); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	fixture.Later(10 * time.Second)(&c.group)
	says(t, c.judge(t, "zone-a-1"), http.StatusTooManyRequests, reason.GroupHeld)
	c.costs(t, 0, 0, 2)

	for sentence, hold := range map[string]fixture.Part{
		"without a Lease":                     func(*group.Snapshot) {},
		"where the wait is not for the group": fixture.Held(""),
	} {
		t.Run(sentence, func(t *testing.T) {
			c := aDown(hold)
			says(t, c.judge(t, "zone-b-0"), http.StatusTooManyRequests, reason.OtherZoneUnavailable)
			c.costs(t, 0, 0, 0)
		})
	}
	t.Run("in a dry run", func(t *testing.T) {
		c := threeOfThree(rolled)
		says(t, c.judge(t, "zone-a-0", dryEviction), http.StatusTooManyRequests, reason.GroupHeld)
		c.costs(t, 0, 0, 0)
	})
}

func dryEviction(e *admission.Eviction) { e.DryRun = true }

func asItIs(*admission.Eviction) {}

func TestUnavailablePodIsEvictedWhicheverZoneHoldsTheGroup(t *testing.T) {
	c := aDown(fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-0")))
	v := c.judge(t, "zone-a-1")
	says(t, v, http.StatusOK, reason.PodUnavailable)
	c.costs(t, 0, 0, 0)
	if len(v.Warnings) > 0 {
		t.Errorf("warned %q", v.Warnings)
	}
}

// The first request counts the group while the pod is down. The second request must not get this
// count, because the pod is up by then.
func TestEvictionIsNotGrantedFromACountOfAnEarlierRequest(t *testing.T) {
	c := aDown(fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-0")))
	webhook, e := c.webhook(), c.pinned(t, "zone-a-1")
	e.Version = 0
	e.UID = ""
	says(t, webhook.Judge(t.Context(), e), http.StatusOK, reason.PodUnavailable)
	c.group.Zones[0].Pods[1].Phase = plan.Ready
	says(t, webhook.Judge(t.Context(), e), http.StatusTooManyRequests, reason.GroupHeld)
}

func TestEvictionBoundToAnotherVersionIsRefusedForNow(t *testing.T) {
	bound := func(version plan.Version) func(*admission.Eviction) {
		return func(e *admission.Eviction) { e.Version = version }
	}
	for sentence, tc := range map[string]struct {
		pod     string
		version plan.Version
		code    int
		why     reason.Code
	}{
		"a pod that is down, earlier":   {"zone-a-1", 9, http.StatusTooManyRequests, reason.ObjectChanged},
		"a pod that is down, later":     {"zone-a-1", 11, http.StatusTooManyRequests, reason.CacheStale},
		"a pod that is down, the same":  {"zone-a-1", 10, http.StatusOK, reason.PodUnavailable},
		"a pod that serves, earlier":    {"zone-a-0", 9, http.StatusTooManyRequests, reason.ObjectChanged},
		"a pod that serves, the same":   {"zone-a-0", 10, http.StatusOK, reason.EvictionGranted},
		"a pod that serves, and later":  {"zone-a-0", 11, http.StatusOK, reason.EvictionGranted},
		"a pod that serves, at no time": {"zone-a-0", 0, http.StatusOK, reason.EvictionGranted},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := aDown(budgeted(group.DisruptionBudget{Name: "two", Limit: 2}))
			says(t, c.judge(t, tc.pod, bound(tc.version)), tc.code, tc.why)
			if tc.code != http.StatusOK {
				c.costs(t, 0, 0, 0)
			}
		})
	}
}

// The labels of an orphan may change, and its StatefulSet adopts it: then it counts as a pod of its zone.
func TestAnOrphanIsEvictedOnlyAtTheVersionThatWasJudged(t *testing.T) {
	for sentence, tc := range map[string]struct {
		version plan.Version
		code    int
		why     reason.Code
	}{
		"bound to an earlier version": {9, http.StatusTooManyRequests, reason.ObjectChanged},
		"bound to this version":       {10, http.StatusOK, reason.EvictionGranted},
		"bound to a later version":    {11, http.StatusTooManyRequests, reason.CacheStale},
		"bound to its UID alone":      {0, http.StatusTooManyRequests, reason.CacheStale},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			z := &c.group.Zones[0]
			z.Orphans, z.Pods = z.Pods[:1:1], z.Pods[1:]
			says(t, c.judge(t, z.Orphans[0].Name, func(e *admission.Eviction) { e.Version = tc.version }), tc.code, tc.why)
		})
	}
}

func TestUnboundEvictionHasAWarningAndIsCounted(t *testing.T) {
	loose := func(e *admission.Eviction) { e.UID, e.Version = "", 0 }
	anyVersion := func(e *admission.Eviction) { e.Version = 0 }
	for sentence, tc := range map[string]struct {
		pod    string
		change func(*admission.Eviction)
		dryRun bool
		warned bool
	}{
		"a pod that serves":              {"zone-b-0", loose, false, true},
		"a pod that is down":             {"zone-a-1", loose, false, true},
		"bound, and it serves":           {"zone-b-0", anyVersion, false, false},
		"bound, and it is down":          {"zone-a-1", func(*admission.Eviction) {}, false, false},
		"if lockstep binds no evictions": {"zone-b-0", loose, true, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			c, observed := aDown(), 0
			webhook := c.webhook()
			webhook.DryRun, webhook.Unpinned = tc.dryRun, func() { observed++ }
			e := c.pinned(t, tc.pod)
			tc.change(&e)
			v := webhook.Judge(t.Context(), e)
			if warned := len(v.Warnings) == 1 && observed == 1; warned != tc.warned || !warned && len(v.Warnings)+observed > 0 {
				t.Errorf("warned %q, counted %d", v.Warnings, observed)
			}
			for _, text := range v.Warnings {
				if len(text) > 256 || !strings.Contains(text, "pod-eviction-pin") {
					t.Errorf("warned %q", text)
				}
			}
		})
	}
}

func TestUnboundEvictionIsRecordedAsUnbound(t *testing.T) {
	for _, bound := range []bool{true, false} {
		c := threeOfThree()
		e := c.pinned(t, "zone-a-0")
		if !bound {
			e.UID, e.Version = "", 0
		}
		says(t, c.webhook().Judge(t.Context(), e), http.StatusOK, reason.EvictionGranted)
		if recorded := c.record.Intents[0]; recorded.Unbound == bound {
			t.Errorf("an eviction that is bound %t is recorded as bound %t", bound, !recorded.Unbound)
		}
	}
}

func TestUncachedPodIsReadFromTheAPIServer(t *testing.T) {
	another := observe.Pod{UID: "another", Version: 20, Up: true, Held: true}
	for sentence, tc := range map[string]struct {
		change func(*evictable)
		uid    string
		code   int
		why    reason.Code
	}{
		"it does not exist":               {func(c *evictable) { c.hidden["zone-a-0"], c.gone["zone-a-0"] = true, true }, "", http.StatusNotFound, reason.PodNotFound},
		"it is too new":                   {func(c *evictable) { c.hidden["zone-a-0"] = true }, "", http.StatusTooManyRequests, reason.CacheStale},
		"it is too new, and has no owner": {func(c *evictable) { c.hidden["zone-a-0"], c.there["zone-a-0"] = true, observe.Pod{UID: "x"} }, "", http.StatusOK, reason.NotManaged},
		"it is too new for its StatefulSet": {func(c *evictable) {
			c.hidden["zone-a-0"], c.there["zone-a-0"] = true, observe.Pod{UID: "x", Unplaced: true}
		}, "", http.StatusTooManyRequests, reason.CacheStale},
		"another one has its name":                                   {func(c *evictable) { c.hidden["zone-a-0"], c.there["zone-a-0"] = true, another }, "zone-a-0", http.StatusTooManyRequests, reason.CacheStale},
		"the API server does not answer":                             {func(c *evictable) { c.hidden["zone-a-0"], c.unreachable = true, errors.New("planted") }, "", http.StatusTooManyRequests, reason.ParentUnknown},
		"the caches show a pod of another owner, and it is a zone's": {func(c *evictable) { c.cached["zone-a-0"] = observe.Pod{UID: "zone-a-0"} }, "zone-a-0", http.StatusTooManyRequests, reason.CacheStale},
		"the caches show a pod of another owner, and so does the API server": {func(c *evictable) {
			c.cached["zone-a-0"], c.there["zone-a-0"] = observe.Pod{UID: "zone-a-0"}, observe.Pod{UID: "zone-a-0"}
		}, "zone-a-0", http.StatusOK, reason.NotManaged},
		"a StatefulCluster may have adopted it, and has": {func(c *evictable) {
			c.cached["zone-a-0"], c.there["zone-a-0"] = observe.Pod{UID: "zone-a-0", Held: true, Key: c.group.Key, Ambiguous: true}, observe.Pod{UID: "zone-a-0", Held: true}
		}, "zone-a-0", http.StatusTooManyRequests, reason.CacheStale},
		"a StatefulCluster may have adopted it, and no hold covers it any more": {func(c *evictable) {
			c.cached["zone-a-0"], c.there["zone-a-0"] = observe.Pod{UID: "zone-a-0", Held: true, Key: c.group.Key, Ambiguous: true}, observe.Pod{UID: "zone-a-0", Key: c.group.Key}
		}, "zone-a-0", http.StatusTooManyRequests, reason.CacheStale},
		"a StatefulCluster may have adopted it, and it is gone": {func(c *evictable) {
			c.cached["zone-a-0"], c.gone["zone-a-0"] = observe.Pod{UID: "zone-a-0", Held: true, Key: c.group.Key, Ambiguous: true}, true
		}, "zone-a-0", http.StatusNotFound, reason.PodNotFound},
		"a StatefulCluster may have adopted it, and the API server does not answer": {func(c *evictable) {
			c.cached["zone-a-0"], c.unreachable = observe.Pod{UID: "zone-a-0", Held: true, Key: c.group.Key, Ambiguous: true}, errors.New("planted")
		}, "zone-a-0", http.StatusTooManyRequests, reason.ParentUnknown},
		"the caches show the one before":        {func(c *evictable) { c.there["zone-a-0"] = another }, "another", http.StatusTooManyRequests, reason.CacheStale},
		"the caches show the one after":         {func(*evictable) {}, "earlier", http.StatusTooManyRequests, reason.CacheStale},
		"the caches show a deleted pod as well": {func(c *evictable) { c.gone["zone-a-0"] = true }, "earlier", http.StatusNotFound, reason.PodNotFound},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			tc.change(c)
			says(t, c.judge(t, "zone-a-0", func(e *admission.Eviction) { e.UID = tc.uid }), tc.code, tc.why)
			c.costs(t, 0, 1, 0)
		})
	}
}

func TestAZonesPodWithTheNameOfAStatefulClustersPodIsEvicted(t *testing.T) {
	c := threeOfThree()
	c.cached["zone-a-0"] = observe.Pod{UID: "zone-a-0", Up: true, Held: true, Key: c.group.Key, Ambiguous: true}
	says(t, c.judge(t, "zone-a-0"), http.StatusOK, reason.EvictionGranted)
	c.costs(t, 1, 1, 1)
}

func TestUnmanagedPodsAreEvictedAndUnknownPodsAreNot(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*evictable)
		code   int
		why    reason.Code
	}{
		"the namespace did not opt in":     {func(c *evictable) { c.unmanaged, c.unbudgeted = true, true }, http.StatusOK, reason.NotManaged},
		"its StatefulSet is not known yet": {func(c *evictable) { c.cached["zone-a-0"] = observe.Pod{UID: "zone-a-0", Unplaced: true} }, http.StatusTooManyRequests, reason.CacheStale},
		"the caches are not filled yet":    {func(c *evictable) { c.unsynced, c.unmanaged = true, true }, http.StatusTooManyRequests, reason.CacheNotSynced},
		"the budgets are not known yet":    {func(c *evictable) { c.unbudgeted = true }, http.StatusTooManyRequests, reason.CacheNotSynced},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			tc.change(c)
			says(t, c.judge(t, "zone-a-0"), tc.code, tc.why)
			c.costs(t, 0, 0, 0)
		})
	}
}

// Other pods have random characters at the end of their names.
func TestPodThatNoStatefulSetNamesIsEvictedWithoutALiveRead(t *testing.T) {
	c := threeOfThree()
	c.cached["web-5d4f8-x7k2p"] = observe.Pod{UID: "u", Up: true}
	e := admission.Eviction{Namespace: "team", Pod: "web-5d4f8-x7k2p", UID: "u"}
	says(t, c.webhook().Judge(t.Context(), e), http.StatusOK, reason.NotManaged)
	c.costs(t, 0, 0, 0)
}

func TestLiveReadOverridesTheCaches(t *testing.T) {
	for sentence, tc := range map[string]struct {
		live func(*group.Snapshot)
		code int
		why  reason.Code
	}{
		"another zone has the hold":   {fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-0")), http.StatusTooManyRequests, reason.GroupHeld},
		"another zone is unavailable": {func(s *group.Snapshot) { s.Zones[1].Pods[2].Phase = plan.Starting }, http.StatusTooManyRequests, reason.OtherZoneUnavailable},
		"the pod was deleted":         {func(s *group.Snapshot) { s.Zones[0].Pods[0].UID = "another" }, http.StatusTooManyRequests, reason.CacheStale},
		"the pod is down by now":      {func(s *group.Snapshot) { s.Zones[0].Pods[0].Phase = plan.Starting }, http.StatusTooManyRequests, reason.CacheStale},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			c.live = tc.live
			says(t, c.judge(t, "zone-a-0"), tc.code, tc.why)
			if slices.ContainsFunc(c.record.Intents, func(i plan.Intent) bool { return i.Zone == "zone-a" }) {
				t.Errorf("the hold is %+v", c.record)
			}
		})
	}
}

// The webhook's live read makes the hold this process' own. Caches that are older than that read must
// not grant an eviction.
func TestCachesOlderThanTheLastLiveReadGrantNoEviction(t *testing.T) {
	c := cluster(fixture.Zone("zone-a", "1", fixture.Budget(2), fixture.Pods("1", "1", "1")))
	c.live = func(s *group.Snapshot) {
		fallen := &s.Zones[0].Pods[2]
		fallen.Phase, fallen.Version = plan.Starting, fallen.Version+1
	}
	webhook := c.webhook()
	if v := webhook.Judge(t.Context(), c.pinned(t, "zone-a-0")); !v.Allowed {
		t.Fatalf("two of three may be down: %+v", v)
	}
	if v := webhook.Judge(t.Context(), c.pinned(t, "zone-a-1")); v.Allowed {
		t.Error("a third pod may go")
	}
	if c.groupReads != 2 {
		t.Errorf("%d reads, want 2", c.groupReads)
	}
}

// The leader of the same process then makes no plan from caches that are older than the read.
func TestLiveReadForARefusedEvictionShowsWhichCachesAreOlder(t *testing.T) {
	c := threeOfThree()
	c.live = func(s *group.Snapshot) {
		fallen := &s.Zones[1].Pods[2]
		fallen.Phase, fallen.Version = plan.Starting, fallen.Version+1
	}
	webhook, fresh := c.webhook(), freshness.NewLog()
	webhook.Fresh = fresh
	says(t, webhook.Judge(t.Context(), c.pinned(t, "zone-a-0")), http.StatusTooManyRequests, reason.OtherZoneUnavailable)
	if missing, _ := fresh.Behind(new(c.Cached(c.group.Key))); missing == "" {
		t.Error("the caches count as up to date, although the live read showed a newer pod")
	}
}

// countedViews counts how often a group is read from the caches.
type countedViews struct {
	*evictable
	views int
}

func (c *countedViews) Cached(key plan.Key) group.Snapshot {
	c.views++
	return c.evictable.Cached(key)
}

// By the count before the grant, each of these requests would wait for the lock of the group, and count the
// group itself.
func TestEvictionsAfterAGrantAreRefusedByOneNewCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &countedViews{evictable: threeOfThree()}
		webhook := c.webhook()
		webhook.Observer = c
		says(t, webhook.Judge(t.Context(), c.pinned(t, "zone-a-0")), http.StatusOK, reason.EvictionGranted)
		c.views = 0
		for _, pod := range []string{"zone-b-0", "zone-b-1", "zone-c-0"} {
			says(t, webhook.Judge(t.Context(), c.pinned(t, pod)), http.StatusTooManyRequests, reason.GroupHeld)
		}
		if c.views != 1 {
			t.Errorf("the group was counted %d times, want once", c.views)
		}
	})
}

// A process that loses leadership forgets its state of groups, but still serves webhooks.
func TestStaleCachesGrantNoEvictionAfterLosingLeadershipDuringAGrant(t *testing.T) {
	c := cluster(fixture.Zone("zone-a", "1", fixture.Budget(2), fixture.Pods("1", "1", "1")))
	c.live = func(s *group.Snapshot) {
		fallen := &s.Zones[0].Pods[2]
		fallen.Phase, fallen.Version = plan.Starting, fallen.Version+1
	}
	webhook, fresh := c.webhook(), freshness.NewLog()
	webhook.Fresh, c.slow = fresh, func() { fresh.Forget(c.group.Key) }
	says(t, webhook.Judge(t.Context(), c.pinned(t, "zone-a-0")), http.StatusOK, reason.EvictionGranted)
	says(t, webhook.Judge(t.Context(), c.pinned(t, "zone-a-1")), http.StatusTooManyRequests, reason.PodDisruptionPending)
}

func TestConflictingWriteIsRetriedAtMostThreeTimes(t *testing.T) {
	for conflicts, want := range map[int]int{1: http.StatusOK, 2: http.StatusOK, 3: http.StatusTooManyRequests, 9: http.StatusTooManyRequests} {
		c := threeOfThree()
		c.conflicts = conflicts
		why := reason.EvictionGranted
		if want != http.StatusOK {
			why = reason.GroupHeld
		}
		says(t, c.judge(t, "zone-a-0"), want, why)
		if writes := min(conflicts+1, 3); len(c.written) != writes {
			t.Errorf("overtaken %d times: %d writes, want %d", conflicts, len(c.written), writes)
		}
	}
}

func TestEvictionIsRefusedForNowIfTheAPIServerFails(t *testing.T) {
	for sentence, change := range map[string]func(*evictable){
		"a live read": func(c *evictable) { c.unreachable = errors.New("planted " + strings.Repeat("x", 5000)) },
		"a write":     func(c *evictable) { c.broken = errors.New("planted " + strings.Repeat("x", 5000)) },
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			change(c)
			v := c.judge(t, "zone-a-0")
			says(t, v, http.StatusTooManyRequests, reason.ParentUnknown)
			if !strings.Contains(v.Message, "planted") || len(v.Message) > 1024 {
				t.Errorf("the message is %q", v.Message)
			}
		})
	}
}

func TestDryRunEvictionIsJudgedAndChangesNothing(t *testing.T) {
	c := threeOfThree()
	says(t, c.judge(t, "zone-a-0", dryEviction), http.StatusOK, reason.EvictionGranted)
	c.costs(t, 1, 0, 0)
	webhook := c.webhook()
	webhook.DryRun = true
	says(t, webhook.Judge(t.Context(), c.pinned(t, "zone-a-0")), http.StatusOK, reason.EvictionGranted)
	c.costs(t, 2, 0, 0)
}

func TestDecidedIsCalledForEvictionsUnderABudget(t *testing.T) {
	store := budgeted(group.DisruptionBudget{Name: "store", Limit: 1})
	for sentence, tc := range map[string]struct {
		cluster *evictable
		pod     string
		change  func(*admission.Eviction)
		want    []string
	}{
		"a grant":                       {threeOfThree(store), "zone-a-0", asItIs, []string{"zone-a-0 of store: EvictionGranted"}},
		"a refusal":                     {aDown(store), "zone-b-0", asItIs, []string{"zone-b-0 of store: OtherZoneUnavailable"}},
		"a pod that is down":            {aDown(store), "zone-a-1", asItIs, []string{"zone-a-1 of store: PodUnavailable"}},
		"a dry run is not":              {threeOfThree(store), "zone-a-0", dryEviction, nil},
		"a pod without a budget is not": {threeOfThree(), "zone-a-0", asItIs, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			webhook, observed := tc.cluster.webhook(), []string(nil)
			webhook.Decided = func(_ context.Context, e admission.Eviction, budget string, v admission.Verdict) {
				observed = append(observed, e.Pod+" of "+budget+": "+string(v.Reason))
			}
			e := tc.cluster.pinned(t, tc.pod)
			tc.change(&e)
			webhook.Judge(t.Context(), e)
			if diff := cmp.Diff(tc.want, observed); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConcurrentEvictionsAreGrantedInOneZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := threeOfThree()
		c.slow = func() { time.Sleep(time.Second) }
		webhook, verdicts := c.webhook(), make(chan admission.Verdict, 2)
		for _, pod := range []string{"zone-a-0", "zone-b-0"} {
			e := c.pinned(t, pod)
			go func() { verdicts <- webhook.Judge(t.Context(), e) }()
		}
		first, second := <-verdicts, <-verdicts
		says(t, first, http.StatusOK, reason.EvictionGranted)
		says(t, second, http.StatusTooManyRequests, reason.GroupHeld)
		if len(c.written) != 2 || len(c.record.Intents) != 1 || len(c.record.Waiting) != 1 {
			t.Errorf("%d writes; the hold is %+v", len(c.written), c.record)
		}
	})
}

func TestRefusedEvictionDoesNotWaitForTheGroupLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := threeOfThree(fixture.Held(plan.EvictionOperation.For("zone-a"), fixture.IntentOf("zone-a-1")), budgeted(group.DisruptionBudget{Name: "two", Limit: 2}))
		c.slow = func() { time.Sleep(5 * time.Second) }
		webhook, granted := c.webhook(), make(chan admission.Verdict, 1)
		up, refused := c.pinned(t, "zone-a-0"), c.pinned(t, "zone-b-0")
		go func() { granted <- webhook.Judge(t.Context(), up) }()
		synctest.Wait()
		began := time.Now()
		says(t, webhook.Judge(t.Context(), refused), http.StatusTooManyRequests, reason.GroupHeld)
		if took := time.Since(began); took > 0 {
			t.Errorf("the refusal took %s", took)
		}
		says(t, <-granted, http.StatusOK, reason.EvictionGranted)
	})
}

func TestEvictionIsRefusedForNowIfTheGroupLockIsNotFreeInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := threeOfThree(fixture.Held(plan.EvictionOperation.For("zone-a")), budgeted(group.DisruptionBudget{Name: "two", Limit: 2}))
		c.slow = func() { time.Sleep(time.Minute) }
		webhook, granted := c.webhook(), make(chan admission.Verdict, 1)
		one, other := c.pinned(t, "zone-a-0"), c.pinned(t, "zone-a-1")
		go func() { granted <- webhook.Judge(t.Context(), one) }()
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		v := webhook.Judge(ctx, other)
		says(t, v, http.StatusTooManyRequests, reason.GroupHeld)
		if !strings.Contains(v.Message, "too many requests") {
			t.Errorf("the message is %q", v.Message)
		}
		says(t, <-granted, http.StatusOK, reason.EvictionGranted)
	})
}

// Many evictions follow the same rules as one: all grants together stay within the
// budget of one zone.
func TestManyConcurrentEvictionsStayWithinTheBudgetOfOneZone(t *testing.T) {
	c := threeOfThree(fixture.Held(""), budgeted(group.DisruptionBudget{Name: "two", Limit: 2}))
	webhook := c.webhook()
	granted := make(chan string)
	var storm sync.WaitGroup
	for range 5 {
		for _, z := range c.group.Zones {
			for _, pod := range z.Pods {
				e := c.pinned(t, pod.Name)
				storm.Go(func() {
					if webhook.Judge(t.Context(), e).Allowed {
						granted <- pod.Name
					}
				})
			}
		}
	}
	go func() { storm.Wait(); close(granted) }()
	pods, zones := map[string]bool{}, map[string]bool{}
	for pod := range granted {
		pods[pod], zones[pod[:len("zone-a")]] = true, true
	}
	if len(pods) != 2 || len(zones) != 1 || len(c.record.Intents) != 2 {
		t.Errorf("granted %v; the hold contains %v", pods, c.record.Intents)
	}
}
