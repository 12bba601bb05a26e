package pools_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/proof/sim/pools"
)

const (
	stepsOfARun  = 600
	runsInATest  = 3000
	defaultFirst = 1
)

// TestRuns runs schedules from consecutive seeds. LOCKSTEP_SEED is the first one, and LOCKSTEP_SCHEDULES is how many.
func TestRuns(t *testing.T) {
	first, count := number(t, "LOCKSTEP_SEED", defaultFirst), number(t, "LOCKSTEP_SCHEDULES", runsInATest)
	changes := 0
	for seed := first; seed < first+count; seed++ {
		r := pools.Run(seed, stepsOfARun)
		changes += r.Versions
		if len(r.Broken) > 0 || r.Goal != "" {
			if count == 1 {
				t.Log(strings.Join(r.Trace, "\n"))
			}
			t.Errorf("LOCKSTEP_SEED=%d LOCKSTEP_SCHEDULES=1: broken %q, goal missed: %s", seed, r.Broken, r.Goal)
		}
	}
	t.Logf("%d runs, %d changes of objects", count, changes)
}

func number(t *testing.T, variable string, absent uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return absent
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}
