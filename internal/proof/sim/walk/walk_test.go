package walk

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// defaultSchedules is the number of schedules of make test; make sim runs many more.
const defaultSchedules = 300

// gcPercent is the GC percentage. It is high because a schedule keeps almost no memory.
const gcPercent = 1500

func TestWalk(t *testing.T) {
	first, schedules := envNumber(t, "LOCKSTEP_SEED", 1), envNumber(t, "LOCKSTEP_SCHEDULES", defaultSchedules)
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	began := time.Now()
	report := runSchedules(t, first, schedules)
	fmt.Fprintf(os.Stdout, "seeds %d to %d, %d at a time, %.0f s\n%v", first, first+schedules-1, runtime.GOMAXPROCS(0), time.Since(began).Seconds(), &report)
	for _, violation := range report.Violations {
		t.Errorf("\n%v", violation)
	}
	if schedules < defaultSchedules || t.Failed() {
		return
	}
	for _, name := range report.Missing() {
		t.Errorf("no schedule contains: %s", name)
	}
}

func envNumber(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// runSchedules runs schedules on all processors until one of them breaks a rule. If several do, the
// report has the counterexample of the lowest seed.
func runSchedules(t *testing.T, first, schedules uint64) Report {
	t.Helper()
	var next, done atomic.Uint64
	var failed atomic.Bool
	var mu sync.Mutex
	var all sync.WaitGroup
	var sum Report
	var violating []uint64
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			var mine Report
			var myViolating []uint64
			for !failed.Load() {
				n := next.Add(1) - 1
				if n >= schedules {
					break
				}
				report := Run(t, Draw(first+n))
				mine.Add(report)
				if n := done.Add(1); n%10_000 == 0 {
					fmt.Fprintf(os.Stdout, "%d of %d schedules\n", n, schedules)
				}
				if len(report.Violations) > 0 {
					failed.Store(true)
					myViolating = append(myViolating, first+n)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Add(mine)
			violating = append(violating, myViolating...)
		})
	}
	all.Wait()
	if len(violating) > 0 {
		sum.Violations = []*Counterexample{Minimize(t, Draw(slices.Min(violating)))}
	}
	return sum
}

// Before the delete arrives, its sender adds a replica to another zone and receives the answer.
func TestDeleteIsJudgedByTheKnowledgeOfItsSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWalk(t.Context(), Draw(1))
		p, g := w.processes[0], w.groups[0]
		first, pod := g.zones[0], g.pods[0][0]
		w.writeHold(g, plan.Record{
			Hold: plan.Hold{
				Holder:   plan.Holder("rollout/" + first.Name),
				Duration: hold.Duration,
				Renewed:  w.wall(),
				Intents:  []plan.Intent{{Pod: pod.Name, Zone: first.Name, UID: pod.UID, Version: pod.Version, Cause: reason.OutdatedRevision, Since: w.wall()}},
			},
		})
		r := &round{process: p, g: g, shown: p.shownOf(g)}
		r.requestDelete(plan.DeletePod{Zone: first.Name, Pod: pod.Name, UID: pod.UID, Version: pod.Version})(func(error) {})
		w.putSpec(g, 1, func(z *zone) { z.Replicas++ })
		p.progress[g.no].shown.answered[1] = g.zones[1].Version
		for w.events[0].at < 6*time.Millisecond && g.pods[0][0] == pod {
			w.step()
		}
		if now := g.pods[0][0]; now == pod || w.violation != nil {
			t.Errorf("deleted: %t, violation: %+v", now != pod, w.violation)
		}
		w.end()
	})
}
