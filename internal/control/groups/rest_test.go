package groups_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
)

// If a plan changes nothing (a dry run, an unreadable hold), a renewal time in the past must not
// cause a hundred reconciles a second.
func TestTimeInThePastCausesNoBusyLoop(t *testing.T) {
	for sentence, situation := range map[string]string{
		"a rollout's hold that cannot be read is never renewed": "hold rollout/zone-a renewed 30s ago unreadable=damaged\n" + settled,
		"a repair next to a hold that is not renewed any more":  "hold rollout/zone-a renewed 5m ago\nzone-a rev=2\n zone-a-0 starting@2\nzone-b rev=2 current=1\n zone-b-0 failing@1\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{cached: today(situation), live: today("live\n" + situation)}
				c, _ := newController(&w)
				got, err := c.Reconcile(t.Context(), store)
				if err != nil || got.Earlier(loop.After(time.Second)) != loop.After(time.Second) {
					t.Errorf("got %s, %v after %d live reads; want a live read no sooner than in %s", got, err, w.liveReads, time.Second)
				}
			})
		})
	}
}

// A dry run creates no Lease, so each live read shows something that the caches never show.
func TestDryRunReadsAGroupWithoutALeaseOnceAMinute(t *testing.T) {
	const unknown = "members none\n" + settled
	for sentence, tc := range map[string]struct {
		dryRun bool
		want   time.Duration
	}{
		"a dry run":                      {true, time.Minute},
		"the Lease is made and is shown": {false, time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{cached: today(unknown), live: today("live\n" + unknown)}
				c, _ := newController(&w)
				c.DryRun = tc.dryRun
				if got, err := c.Reconcile(t.Context(), store); err != nil || got != loop.After(tc.want) || w.liveReads != 1 {
					t.Errorf("got %s, %v after %d live reads; want a live read in %s after one", got, err, w.liveReads, tc.want)
				}
			})
		})
	}
}
