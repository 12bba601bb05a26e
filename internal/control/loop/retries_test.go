package loop_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
)

// An event causes a reconcile at once. It neither resets the back-off nor makes it
// longer.
func TestFailureAfterAnEventKeepsTheBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, answers(errAgain, errAgain, errAgain, errAgain, loop.Done()))
		b.Add(one)
		time.Sleep(60 * time.Millisecond) // it has failed twice, and its back-off lasts until 150 ms
		b.Add(one)
		time.Sleep(time.Hour)
		want := []string{"0s mimir/ingester", "50ms mimir/ingester", "60ms mimir/ingester", "150ms mimir/ingester", "350ms mimir/ingester"}
		if diff := cmp.Diff(want, b.seen()); diff != "" {
			t.Errorf("reconciles (-want +got)\n%s", diff)
		}
	})
}

// Retries of all keys together have a limit. A key that fails at every event must not use it
// up.
func TestKeyThatFailsAtEveryEventDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet, events := key{"quiet", "store"}, 5000
		var b *bench
		b = run(t, func(_ context.Context, k key) (loop.Outcome, error) {
			if events--; k == one && events > 0 {
				b.Add(one)
			}
			return loop.Done(), errAgain
		})
		b.Add(one)
		time.Sleep(time.Second)
		b.Add(quiet)
		time.Sleep(50 * time.Millisecond)
		if reconciles := b.seen(); !slices.Contains(reconciles, "1.05s quiet/store") {
			t.Errorf("the quiet group is not reconciled again after 50 ms: last reconciles %v", reconciles[len(reconciles)-3:])
		}
	})
}

// If thousands of keys fail at once, none waits for more than a minute.
func TestRetryLimitDelaysNoKeyForMoreThanAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, func(context.Context, key) (loop.Outcome, error) { return loop.Done(), errAgain })
		for i := range 10_000 {
			b.Add(key{"busy", strconv.Itoa(i)})
		}
		synctest.Wait()
		b.Add(one)
		time.Sleep(time.Minute)
		if reconciles := b.seen(); !slices.Contains(reconciles, "1m0s mimir/ingester") {
			t.Errorf("the last key to fail is not reconciled again after a minute: last reconciles %v", reconciles[len(reconciles)-3:])
		}
	})
}
