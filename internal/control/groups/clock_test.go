package groups_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

// jumps are clock errors: against times that other processes wrote, or between two
// reconciles.
var jumps = []time.Duration{
	-30 * 365 * 24 * time.Hour, -time.Hour, -hold.Duration, -time.Second,
	0, time.Second, hold.Duration, time.Hour, 30 * 365 * 24 * time.Hour,
}

func TestWrongClocksBreakNoRuleAndCauseNoBusyLoop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := world{cached: draw.Odd().Draw(rt, "cached")}
		w.cached.Key = store
		w.cached.Now = w.cached.Now.Add(rapid.SampledFrom(jumps).Draw(rt, "off by"))
		w.live = fixture.Clone(w.cached)
		w.live.Live = true
		w.live.Now = w.live.Now.Add(rapid.SampledFrom(jumps).Draw(rt, "during the live read"))
		c, _ := newController(&w)
		j := &judge{world: &w}
		c.Executor = j
		got, err := c.Reconcile(t.Context(), store)
		if err != nil && reason.ClassOf(err) != reason.Human {
			rt.Error(err)
		}
		if j.wrong != "" {
			rt.Error(j.wrong)
		}
		if got == loop.Now() && err == nil {
			rt.Error("reads again at once, without an event")
		}
	})
}

// After a clock jump during a rollout, the rollout continues, and no pod is deleted that the
// budget would not allow otherwise.
func TestRolloutContinuesSafelyAfterAClockJump(t *testing.T) {
	for _, jump := range jumps {
		t.Run(jump.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{}
				c, _ := newController(&w)
				for _, situation := range []struct{ cached, want string }{
					{rolling + " intent zone-a-0 uid=former version=5\n" + starting, "wait zone-a because PodStarting zone-a-0"},
					{rolling + settled, "release rollout/zone-a"},
				} {
					w.cached, w.reported = jumped(situation.cached, jump), nil
					if _, err := c.Reconcile(t.Context(), store); err != nil {
						t.Fatal(err)
					}
					if len(w.reported) != 1 || w.reported[0] != situation.want {
						t.Errorf("reported %q, want %q", w.reported, situation.want)
					}
				}
			})
		})
	}
}

// jumped returns a snapshot of an operator whose clock has jumped.
func jumped(situation string, by time.Duration) group.Snapshot {
	s := today(situation)
	s.Now = s.Now.Add(by)
	return s
}
