package pools_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/proof/sim/pools"
)

// TestExplore visits states of small worlds. LOCKSTEP_STATES is how many of each world at most, and LOCKSTEP_WORLD a part of
// the names of the worlds.
func TestExplore(t *testing.T) {
	const ofAWorld, oneGoalIn = 4000, 20
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	states := number(t, "LOCKSTEP_STATES", ofAWorld)
	for _, w := range pools.Worlds() {
		if !strings.Contains(w.Name, os.Getenv("LOCKSTEP_WORLD")) {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			x := w.Explore(int(states), oneGoalIn, runtime.GOMAXPROCS(0))
			t.Logf("%d states (all: %t), %d moves, at most %d to a state; the goal is reached from %d", x.States, x.Complete, x.Moves, x.Longest, x.Goals)
			if x.Broken != "" {
				t.Errorf("%s\n%s", x.Broken, strings.Join(x.History, "\n"))
			}
		})
	}
}
