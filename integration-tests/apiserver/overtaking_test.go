package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// Another zone waits and cannot continue before the first pod is available again. So a second pod
// may be evicted within the budget. It delays the other zone, but no third pod may overtake that
// zone.
func TestAnEvictionWithinTheBudgetOvertakesAZoneThatWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	e := evictedUnder(t, judge.Budget{Limit: 2})
	e.begin(zone("zone-a", 3, inBudget, gated()), zone("zone-b", 2, inBudget))
	for _, pod := range []string{"zone-a-0", "zone-a-1", "zone-a-2"} {
		e.opens(pod)
	}
	e.settled()
	e.grants("zone-a-0")
	e.hasEvicted("zone-a-0")
	e.eventually("zone-b, which repeats its request, has a place in the queue", func(now present) error {
		if err := e.evicts(t.Context(), "zone-b-0", nil); err == nil {
			t.Fatal("zone-b-0 is evicted while zone-a-0 is away")
		}
		lease := now.leases["lockstep-group-"+defaultGroup]
		if lease == nil || !strings.Contains(lease.Annotations["lockstep.dev/waiting"], "zone-b") {
			return errors.New("not yet")
		}
		return nil
	})
	e.grants("zone-a-1")
	e.hasEvicted("zone-a-1")
	e.opens("zone-a-0")
	e.eventually("zone-a lets the other zone go first", func(present) error {
		err := e.evicts(t.Context(), "zone-a-2", nil)
		if err == nil {
			t.Fatal("zone-a-2 is evicted while zone-b waits only for a pod that overtook it")
		}
		if !strings.Contains(err.Error(), "(QueuedBehindOtherZone zone-b (eviction))") || strings.Contains(err.Error(), "at most") {
			return err
		}
		return nil
	})
	e.opens("zone-a-1")
	e.eventually("the turn of zone-b begins", func(present) error { return e.evicts(t.Context(), "zone-b-0", nil) })
	e.hasEvicted("zone-b-0")
	e.settled()
}

// hasEvicted waits until a ready pod was evicted.
func (e *drainable) hasEvicted(pod string) {
	e.t.Helper()
	e.eventually(pod+" was evicted", func(present) error {
		if all := e.evicted(); !slices.Contains(all, pod) {
			return fmt.Errorf("evicted were %q", all)
		}
		return nil
	})
}

// grants waits until a pod is evicted, which succeeds once both operators have observed the earlier
// events.
func (e *drainable) grants(pod string) {
	e.t.Helper()
	e.eventually(pod+" is evicted", func(present) error { return e.evicts(e.t.Context(), pod, nil) })
}

// Two zones of five pods are drained concurrently, two pods at a time. Each turn takes two
// pods, so the last pod is removed after about twice the time of one zone.
func TestTwoZonesThatAreDrainedAtOnceEachUseTheirBudget(t *testing.T) {
	t.Parallel()
	both := drainedZones(t, "zone-a", "zone-b")
	for _, zone := range []string{"zone-a", "zone-b"} {
		if got := both.turns[zone]; got > 4 {
			t.Errorf("%s needed %d turns for five pods, two at a time; they were removed in this order: %q", zone, got, both.order)
		}
	}
	alone := drainedZones(t, "zone-a")
	t.Logf("two zones: the last pod was removed after %s; one alone: %s", both.took, alone.took)
	if most := 3 * alone.took; both.took > most {
		t.Errorf("the last pod of two zones was removed after %s, that of one zone alone after %s", both.took, alone.took)
	}
}

// exits is the result of draining some zones concurrently.
type exits struct {
	took  time.Duration  // until the last pod was removed
	order []string       // of the pods
	turns map[string]int // how often the turn changed to a zone, by zone
}

// drainedZones evicts all pods of some of two zones of five pods, and requests each eviction five
// times a second.
func drainedZones(t *testing.T, zones ...string) exits {
	t.Helper()
	e := evictedUnder(t, judge.Budget{Limit: 2})
	e.begin(zone("zone-a", 5, inBudget, readyAfter(8*time.Second)), zone("zone-b", 5, inBudget, readyAfter(8*time.Second)))
	e.settled()
	began := time.Now()
	var asking sync.WaitGroup
	for ordinal := range 5 {
		for _, zone := range zones {
			asking.Go(func() {
				if err := e.evictUntilGranted(fmt.Sprintf("%s-%d", zone, ordinal)); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(50 * time.Millisecond) // so that both zones have requests from the start
		}
	}
	asking.Wait()
	of := exits{took: time.Since(began), turns: map[string]int{}}
	e.settled()
	last := ""
	for _, d := range e.departures() {
		if !d.Evicted || !d.WasServing {
			continue
		}
		of.order = append(of.order, d.Pod)
		if d.Zone != last {
			of.turns[d.Zone]++
		}
		last = d.Zone
	}
	return of
}
