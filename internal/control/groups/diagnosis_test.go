package groups_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// keepsWaiting reconciles a group once a minute for a while, and returns the report of each
// minute.
func keepsWaiting(t *testing.T, w *world, minutes int) []string {
	t.Helper()
	c, _ := newController(w)
	for range minutes {
		w.cached.Now = time.Now()
		if _, err := c.Reconcile(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
	}
	return w.reported
}

func TestLastingWaitContainsTheDiagnosisOfItsPod(t *testing.T) {
	facts := []diagnosis.Fact{{Says: "the pod cannot be removed while it has finalizer x/y"}, {Says: "node-1 is slow"}}
	const (
		leaving = "zone-a rev=2\n zone-a-0 terminating@2\n"
		failing = "zone-a rev=2\n zone-a-0 failing@2 why=CrashLoopBackOff\n"
		known   = "the pod cannot be removed while it has finalizer x/y; node-1 is slow)"
	)
	for sentence, tc := range map[string]struct {
		situation string
		world     world
		minutes   int
		want      []string
		reads     int
	}{
		"after a minute": {leaving, world{facts: facts}, 3, []string{
			"wait zone-a because PodTerminating zone-a-0", "wait zone-a because PodTerminating zone-a-0 (" + known, "wait zone-a because PodTerminating zone-a-0 (" + known,
		}, 1},
		"at once where the pod fails": {failing, world{facts: facts}, 2, []string{
			"wait zone-a because PodFailing zone-a-0 (CrashLoopBackOff; " + known, "wait zone-a because PodFailing zone-a-0 (CrashLoopBackOff; " + known,
		}, 1},
		"less where it cannot be read": {leaving, world{diagnoseFails: errors.New("forbidden")}, 2, []string{
			"wait zone-a because PodTerminating zone-a-0", "wait zone-a because PodTerminating zone-a-0",
		}, 1},
		"no diagnosis if it is unknown":             {leaving, world{}, 2, []string{"wait zone-a because PodTerminating zone-a-0", "wait zone-a because PodTerminating zone-a-0"}, 1},
		"no diagnosis of a Ready pod":               {"zone-a rev=2 minReady=1h\n zone-a-0 ready@2 for=1s\n", world{facts: facts}, 1, []string{"wait zone-a because PodNotYetAvailable zone-a-0"}, 0},
		"no diagnosis of a pod that does not exist": {"zone-a rev=2 replicas=1\n", world{facts: facts}, 2, []string{"wait zone-a because PodMissing zone-a-0", "wait zone-a because PodMissing zone-a-0"}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := tc.world
				w.cached = today(tc.situation)
				if diff := cmp.Diff(tc.want, keepsWaiting(t, &w, tc.minutes)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if w.diagnosed != tc.reads {
					t.Errorf("%d reads, want %d", w.diagnosed, tc.reads)
				}
			})
		})
	}
}

// A wait of an hour for the same pod reads it every five minutes. A recreated pod is read
// again.
func TestWaitingPodsAreReadAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{cached: today("zone-a rev=2\n zone-a-0 terminating@2\n"), facts: []diagnosis.Fact{{Says: "x"}}}
		c, _ := newController(&w)
		liveReads := func(minutes int) (reads int) {
			before := w.diagnosed
			for range minutes {
				w.cached.Now = time.Now()
				if _, err := c.Reconcile(t.Context(), store); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
			}
			return w.diagnosed - before
		}
		if n := liveReads(60); n != 12 {
			t.Errorf("%d reads in an hour", n)
		}
		w.cached.Zones[0].Pods[0].UID = "another"
		w.cached.Zones[0].Pods[0].Phase = plan.Starting
		if n := liveReads(1); n != 0 || strings.Contains(w.reported[len(w.reported)-1], "x") {
			t.Errorf("%d reads of a pod that has just begun: %s", n, w.reported[len(w.reported)-1])
		}
		if n := liveReads(1); n != 1 {
			t.Errorf("%d reads of a pod that lasts", n)
		}
		w.cached.Zones[0].Pods[0].Phase = plan.Failing
		if n := liveReads(1); n != 1 {
			t.Errorf("%d reads of a pod that begins to fail", n)
		}
		c.Forget(store)
		if n := liveReads(1); n != 1 {
			t.Errorf("%d reads after the group was forgotten", n)
		}
	})
}

func TestDiagnosisReadsFewPodsInOneRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{facts: []diagnosis.Fact{{Says: "x"}}}
		var zones []string
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			zones = append(zones, "zone-"+name+" rev=2\n zone-"+name+"-0 failing@2\n")
		}
		w.cached = today(strings.Join(zones, ""))
		c, _ := newController(&w)
		for _, want := range []int{3, 5, 5} {
			if _, err := c.Reconcile(t.Context(), store); err != nil {
				t.Fatal(err)
			}
			if w.diagnosed != want {
				t.Errorf("%d reads, want %d", w.diagnosed, want)
			}
		}
		if last := w.reported[len(w.reported)-1]; strings.Count(last, "(x)") != 5 {
			t.Errorf("reported %s", last)
		}
	})
}
