package telemetry_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// There may be thousands of groups. This test limits the heap memory of one group with four
// zones, including its names. The process uses about twice as much.
func TestAGroupTakesLittleMemoryBetweenScrapes(t *testing.T) {
	const groups, most = 500, 3 << 10
	m := telemetry.NewMetrics("v1")
	before := heap()
	for i := range groups {
		g := m.Group(fmt.Sprint("team-", i), fmt.Sprint("store-", i))
		for range 2 { // another reconcile adds nothing
			g.Show(fourZones(fmt.Sprint("store-", i)))
			g.Reconciled(t.Context(), "done", true, time.Millisecond)
		}
	}
	each := (heap() - before) / groups
	t.Logf("%d bytes each", each)
	if each > most {
		t.Errorf("%d bytes each, want at most %d", each, most)
	}
	if got, want := len(some(scrape(t, m), "lockstep_group_")), groups*96; got != want {
		t.Errorf("%d series, want %d", got, want)
	}
}

func fourZones(group string) telemetry.GroupState {
	state := telemetry.GroupState{At: time.Unix(1, 0), Causes: []string{"OutdatedRevision", "OutdatedAndUnavailable"}}
	for i := range 4 {
		state.Zones = append(state.Zones, telemetry.ZoneState{Name: fmt.Sprint(group, "-zone-", i), Desired: 5, Ready: 5, Updated: 5, Budget: 1, Activity: "Settled"})
	}
	return state
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // the first one leaves objects with finalizers
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
