package rolloutgroup

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const (
	created = "POST team/"
	updated = "PATCH team/ingester status"
	removed = "DELETE team/ingester"
)

func (g *running) wants(what string, writes ...string) {
	g.t.Helper()
	time.Sleep(100 * time.Millisecond) // for some turns
	if diff := cmp.Diff(writes, g.wrote()); diff != "" {
		g.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestObjectIsCreatedUpdatedAndDeletedWithItsGroup(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		g.plans("ingester", complete)
		g.wants("a group appears", updated, created)
		if got := g.says(called("ingester"), "activity"); got != "Settled" {
			t.Errorf("it is %s", got)
		}
		time.Sleep(time.Minute)
		g.plans("ingester", pending)
		g.wants("a rollout begins", updated)
		if got := g.says(called("ingester"), "progress"); got != "0/1" {
			t.Errorf("progress is %s", got)
		}
		time.Sleep(time.Minute)
		g.ends("ingester")
		g.wants("the group was deleted", removed)
		time.Sleep(time.Hour)
		g.wants("an hour later")
	})
}

func TestObjectIsWrittenOnChangeAtMostOnceASecond(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		situations := []string{complete, pending, "zone-a rev=1\n zone-a-0 starting@1\n"}
		for i := range 200 { // twenty seconds
			g.plans("ingester", situations[i%3])
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(g.wrote()); n < 19 || n > 22 { // including the creation
			t.Errorf("%d writes in 20 seconds", n)
		}
		time.Sleep(2 * time.Second)
		if got, last := g.says(called("ingester"), "activity"), fixture.MustParse(situations[199%3]); got != string(group.Describe(last, nil).Activity) {
			t.Errorf("in the end it is %s", got)
		}
		g.wrote()
		for range 600 {
			g.plans("ingester", situations[199%3])
			time.Sleep(100 * time.Millisecond)
		}
		g.wants("nothing has changed")
	})
}

func TestWritesOfAllGroupsHaveALimitedRate(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		for range 40 { // ten seconds
			for i := range 500 {
				g.plans(fmt.Sprint("g", i), fmt.Sprintf("zone-a rev=1\n zone-a-0 %s\n", []string{"ready@1", "starting@1"}[time.Now().UnixMilli()/500%2]))
			}
			time.Sleep(250 * time.Millisecond)
		}
		if n := len(g.wrote()); n < 900 || n > 1500 { // 500 turns begin with two
			t.Errorf("%d writes", n)
		}
	})
}

func TestSlowAPIServerGetsFewerWrites(t *testing.T) {
	s := newServer(true)
	s.slow = 50 * time.Millisecond
	inRunning(t, s, func(g *running) {
		for range 100 { // a hundred seconds
			for i := range 50 {
				g.plans(fmt.Sprint("g", i), fmt.Sprintf("zone-a rev=1\n zone-a-0 %s\n", []string{"ready@1", "starting@1"}[time.Now().Unix()%2]))
			}
			time.Sleep(time.Second)
		}
		if n := len(g.wrote()); n < 800 || n > 1100 { // half of the time
			t.Errorf("%d writes", n)
		}
	})
}

func TestNewLeaderWritesNothingIfTheStatusIsCurrent(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		g.plans("ingester", pending)
		g.wants("a group appears", updated, created)
		before := g.objects[called("ingester")].DeepCopy()
		g.stop()
		g.wants("leadership ends")
		time.Sleep(time.Hour)
		g.start(logrus.New())
		g.plans("ingester", pending)
		time.Sleep(time.Minute)
		g.wants("another one leads and sees the same")
		g.plans("ingester", strings.Replace(pending, "ready@1", "starting@2", 1))
		g.wants("something has changed", updated)
		was, is := statusIn(before.Object["status"]).Conditions[1], statusIn(g.objects[called("ingester")].Object["status"]).Conditions[1]
		if was.Type != "Reconciling" || was.Reason == is.Reason || !was.LastTransitionTime.Equal(&is.LastTransitionTime) {
			t.Errorf("from %+v to %+v", was, is)
		}
	})
}

func TestObjectsWithoutAGroupAreDeletedAfterAnOutage(t *testing.T) {
	s := newServer(true)
	s.put(called("ingester"), "ingester", ours)                                          // its group does not exist
	s.put(Name{"team", "other"}, "store", ours)                                          // not the object of a group
	s.put(called("Store_A"), "Store_A", ours)                                            // its group exists
	s.put(Name{"team", "stranger"}, "stranger", nil)                                     // created by another client
	s.put(Name{"team", "strange"}, "x", map[string]any{contract.ManagedByLabel: "Helm"}) // managed by another program
	inRunning(t, s, func(g *running) { g.wants("an operator starts", removed, "DELETE team/other") }, "Store_A")
}

func TestUserChangesOfAnObjectAreReverted(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		g.plans("ingester", complete)
		g.wrote()
		time.Sleep(time.Minute)
		g.take(called("ingester"))
		g.wants("it was deleted", updated, created)
		time.Sleep(time.Minute)
		g.mu.Lock()
		edited := g.objects[called("ingester")].DeepCopy()
		edited.Object["status"] = map[string]any{"activity": "Asleep"}
		g.server.store("MODIFIED", called("ingester"), edited)
		g.mu.Unlock()
		g.wants("it was edited", updated)
		if got := g.says(called("ingester"), "activity"); got != "Settled" {
			t.Errorf("it is %s", got)
		}
	})
}

func TestForeignObjectIsNotChanged(t *testing.T) {
	s := newServer(true)
	s.put(called("ingester"), "ingester", nil)
	inRunning(t, s, func(g *running) {
		g.plans("ingester", complete)
		g.wants("it cannot be made", created)
		time.Sleep(5 * time.Minute)
		if n := len(g.wrote()); n > 5*6 {
			t.Errorf("tried %d times in five minutes", n)
		}
		if got := g.says(called("ingester"), "activity"); got != "" {
			t.Errorf("it says %s", got)
		}
	})
}

func TestUnmanagedNamespaceIsNotWritten(t *testing.T) {
	s := newServer(true)
	inRunning(t, s, func(g *running) {
		g.mutex.Lock()
		g.foreign = true
		g.mutex.Unlock()
		s.put(called("ingester"), "ingester", ours)
		s.put(called("gone"), "gone", ours)
		g.plans("ingester", complete)
		time.Sleep(time.Minute)
		g.ends("ingester")
		time.Sleep(time.Minute)
		g.wants("no opt-in")
		g.mutex.Lock()
		g.foreign = false
		g.mutex.Unlock()
		for _, n := range g.controller.Cache.In("team") {
			g.controller.Soon(n, 0)
		}
		time.Sleep(time.Minute)
		wrote := g.wrote()
		if slices.Sort(wrote); !slices.Equal(wrote, []string{"DELETE team/gone", removed}) {
			t.Errorf("it opts in, and its groups were deleted meanwhile: wrote %s", wrote)
		}
	})
}

func TestOnlyRolloutGroupsHaveObjects(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		for _, key := range []plan.Key{{Namespace: "team", Name: "a", Kind: plan.KindStatefulSet}, {Namespace: "team", Name: "a", Kind: plan.KindBudget}} {
			s := fixture.MustParse(complete)
			s.Key = key
			g.controller.Take(s, nil)
			g.controller.Forget(key)
		}
		time.Sleep(time.Minute)
		g.wants("none of them is rolled")
	})
}

func TestMissingKindCausesNoRequestsAndNoLogLines(t *testing.T) {
	inRunning(t, newServer(false), func(g *running) {
		for range 3600 {
			g.plans("ingester", pending)
			time.Sleep(time.Second)
		}
		g.wants("there is no such kind")
		if n := g.requests(); n > 100 {
			t.Errorf("%d requests in an hour", n)
		}
		if n := len(g.log.AllEntries()); n != 1 {
			t.Errorf("%d lines", n)
		}
	})
}

func TestKindCanBeCreatedAndDeletedAtAnyTime(t *testing.T) {
	inRunning(t, newServer(false), func(g *running) {
		g.plans("ingester", complete)
		for range 3 {
			time.Sleep(time.Hour)
			g.serve(true)
			time.Sleep(time.Second)
			g.wants("it is added", updated, created)
			time.Sleep(time.Hour)
			g.serve(false)
			time.Sleep(time.Second)
			g.plans("ingester", pending)
			time.Sleep(time.Hour)
			g.wants("it is deleted")
			g.plans("ingester", complete)
		}
		if g.refused > 0 {
			t.Errorf("%d unnecessary requests", g.refused)
		}
		if n := len(g.log.AllEntries()); n > 7 {
			t.Errorf("%d lines", n)
		}
	})
}

// While a CRD is being deleted, its objects are deleted and creating objects is forbidden.
func TestRequestsForbiddenDuringDeletionOfTheKindAreRetriedWhenItReturns(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		g.plans("ingester", complete)
		g.wants("a group appears", updated, created)
		time.Sleep(time.Minute)
		g.refuse(http.StatusForbidden, http.MethodPost)
		g.take(called("ingester"))
		time.Sleep(time.Second)
		g.serve(false)
		g.refuse(0, http.MethodPost)
		time.Sleep(time.Minute)
		g.serve(true)
		time.Sleep(time.Second)
		g.wants("it is added again", updated, created)
	})
}

func TestRefusedRequestsAreRetriedAtIntervalsWithoutLogLines(t *testing.T) {
	for sentence, tc := range map[string]struct {
		code int32
		most int // requests in an hour
	}{
		"forbidden":   {http.StatusForbidden, 7},
		"unavailable": {http.StatusServiceUnavailable, 361},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(true)
			inRunning(t, s, func(g *running) {
				g.wrote()
				lines := len(g.log.AllEntries())
				g.refuse(tc.code, http.MethodPost, http.MethodPatch)
				for i := range 3600 {
					g.plans("ingester", []string{complete, pending}[i%2])
					time.Sleep(time.Second)
				}
				if g.refused == 0 || g.refused > tc.most {
					t.Errorf("%d requests in an hour", g.refused)
				}
				if n := len(g.log.AllEntries()) - lines; n > 0 {
					t.Errorf("%d lines", n)
				}
				g.refuse(0, http.MethodPost, http.MethodPatch)
				time.Sleep(pauseForbidden)
				if got := g.says(called("ingester"), "activity"); got != "Blocked" && got != "Recovering" && got != "Settled" {
					t.Errorf("in the end: %s", got)
				}
			})
		})
	}
}

func TestObjectOfAnotherGroupIsReplaced(t *testing.T) {
	s := newServer(true)
	inRunning(t, s, func(g *running) {
		g.plans("ingester", complete)
		time.Sleep(time.Minute)
		s.take(called("ingester"))
		s.put(called("ingester"), "store", ours)
		time.Sleep(time.Hour)
		o := g.objects[called("ingester")]
		if o == nil {
			t.Fatalf("there is no object after %q", g.wrote())
		}
		if group, _, _ := unstructured.NestedString(o.Object, "spec", "group"); group != "ingester" {
			t.Errorf("it is about %q", group)
		}
		if got := g.says(called("ingester"), "activity"); got != "Settled" {
			t.Errorf("it is %q", got)
		}
	})
}

// The status of such an object is outdated, and may appear healthy.
func TestObjectWithoutLabelIsLoggedAndRetriedAtIntervals(t *testing.T) {
	s := newServer(true)
	s.put(called("ingester"), "ingester", nil)
	inRunning(t, s, func(g *running) {
		g.plans("ingester", complete)
		time.Sleep(time.Hour)
		if n := len(g.wrote()); n < 1 || n > 7 {
			t.Errorf("%d requests in an hour", n)
		}
		if last := g.log.LastEntry(); last == nil || last.Level != logrus.InfoLevel || !strings.Contains(last.Message, "without lockstep's label") {
			t.Errorf("no notification: %v", last)
		}
	})
}

func TestDeletedGroupUsesNoMemory(t *testing.T) {
	s := newServer(true)
	inRunning(t, s, func(g *running) {
		g.plans("ingester", complete)
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.refuses[http.MethodDelete] = http.StatusInternalServerError
		s.mu.Unlock()
		g.ends("ingester")
		time.Sleep(time.Second)
		s.take(called("ingester"))
		time.Sleep(time.Minute)
		if n := len(g.controller.entries); n > 0 {
			t.Errorf("something is kept of %d groups", n)
		}
	})
}

// Nearly all groups of a cluster are idle. Their snapshots would use most of the process'
// memory.
func TestIdleGroupUsesLittleMemory(t *testing.T) {
	for sentence, served := range map[string]bool{"shown": true, "if the kind is created late": false} {
		t.Run(sentence, func(t *testing.T) {
			inRunning(t, newServer(served), func(g *running) {
				for _, groupState := range []string{complete, pending, complete} {
					g.plans("ingester", groupState)
					time.Sleep(time.Minute)
					g.serve(true)
					time.Sleep(time.Minute)
					a := g.controller.entry(called("ingester"))
					if rests := groupState == complete; rests != (a.latest == nil) || !cmp.Equal(a.last, written{}, cmp.AllowUnexported(written{})) {
						t.Errorf("kept of %q: %+v", groupState, a)
					}
				}
			})
		})
	}
}

// A refused plan cannot be derived from the caches.
func TestEditedStatusIsRestoredFromTheLastPlan(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		g.plans("ingester", pending)
		s := g.Cached(keyOf("ingester"))
		g.controller.Take(s, []plan.Action{plan.Wait{Zone: s.Zones[0].Name, Because: plan.Refusal{Code: reason.InvariantViolated, Detail: "budget"}}})
		time.Sleep(time.Minute)
		g.wrote()
		g.mu.Lock()
		edited := g.objects[called("ingester")].DeepCopy()
		edited.SetAnnotations(map[string]string{"team": "a"})
		g.server.store("MODIFIED", called("ingester"), edited)
		g.mu.Unlock()
		g.wants("its content was not changed")
		if got := g.says(called("ingester"), "waiting", "reason"); got != string(reason.InvariantViolated) {
			t.Errorf("it waits for %q", got)
		}
	})
}

// An older CRD or a mutating policy may change a status.
func TestStatusThatIsStoredDifferentlyIsNotRewritten(t *testing.T) {
	s := newServer(true)
	s.prunes = true
	inRunning(t, s, func(g *running) {
		for range 60 {
			g.plans("ingester", pending)
			time.Sleep(2 * time.Second)
		}
		g.wants("nothing has changed since the first plan", updated, created)
	})
}

func TestChangesDuringMissingPermissionAreWrittenAfterwards(t *testing.T) {
	inRunning(t, newServer(true), func(g *running) {
		g.plans("ingester", complete)
		time.Sleep(time.Minute)
		g.refuse(http.StatusForbidden, http.MethodGet)
		g.cut()
		time.Sleep(time.Minute)
		g.plans("ingester", pending)
		time.Sleep(time.Minute)
		g.refuse(0, http.MethodGet)
		time.Sleep(2 * time.Minute)
		if got := g.says(called("ingester"), "progress"); got != "0/1" {
			t.Errorf("progress is %s", got)
		}
	})
}
