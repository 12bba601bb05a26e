package sim

import (
	"errors"
	"os"
	"strconv"
	"testing"
	"time"
)

// The environment sets the number and size of these worlds: LOCKSTEP_WORLDS worlds of at
// most LOCKSTEP_STATES states, with seeds from LOCKSTEP_SEED on.
func TestExploreDrawnWorlds(t *testing.T) {
	worlds, maxStates, seed := envNumber(t, "LOCKSTEP_WORLDS", 12), envNumber(t, "LOCKSTEP_STATES", 20_000), uint64(time.Now().UnixNano())
	if os.Getenv("LOCKSTEP_EXPLORE") == "full" {
		worlds, maxStates = envNumber(t, "LOCKSTEP_WORLDS", 200), envNumber(t, "LOCKSTEP_STATES", 1_000_000)
	}
	seed = envNumber(t, "LOCKSTEP_SEED", seed%1_000_000)
	t.Logf("LOCKSTEP_SEED=%d", seed)
	complete, states := 0, 0
	for n := range worlds {
		config := Draw(seed + n)
		config.MaxStates = int(maxStates)
		report, err := Explore(config, Deviations{})
		states += report.States
		switch {
		case err == nil:
			complete++
		case !errors.Is(err, errTooLarge):
			t.Fatalf("LOCKSTEP_SEED=%d: %v: %v", seed+n, config, err)
		}
		if report.Violation != nil {
			t.Fatalf("LOCKSTEP_SEED=%d: %v\n%v", seed+n, config, report.Violation)
		}
	}
	t.Logf("%d worlds, %d of them complete, %d states", worlds, complete, states)
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

func TestDrawnWorldsAreValid(t *testing.T) {
	for seed := range uint64(10_000) {
		if err := Draw(seed).validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// An operator that restarts with the caches of the start knows the first version of the Lease. If the renumbering gave
// this version to a later Lease, the operator could write over it.
func TestFirstCachesKeepTheirVersionOfTheLease(t *testing.T) {
	config := Draw(912363)
	config.MaxStates = 20_000
	report, err := Explore(config, Deviations{})
	if err != nil && !errors.Is(err, errTooLarge) || report.Violation != nil || !config.OldCaches || !config.hasAbsences() {
		t.Errorf("%v: %v, %v", config, err, report.Violation)
	}
}
