package admission

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// counter counts groups, and how often it was asked to.
type counter struct {
	takes time.Duration
	times int
}

func (c *counter) count() plan.Outlook {
	c.times++
	time.Sleep(c.takes)
	return plan.OutlookOf(plan.Snapshot{})
}

func TestAGroupIsCountedOnceForAllWhoAskAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outlooks
		var c counter
		key, other := plan.Key{Group: "store"}, plan.Key{Group: "other"}
		for _, step := range []struct {
			promise string
			does    func()
			counted int
		}{
			{"who asks first has it counted", func() { o.of(key, c.count) }, 1},
			{"who asks meanwhile does not", func() { time.Sleep(standsLeast - 1); o.of(key, c.count) }, 1},
			{"another group is counted itself", func() { o.of(other, c.count) }, 2},
			{"who asks later has it counted anew", func() { time.Sleep(time.Nanosecond); o.of(key, c.count) }, 3},
			{"and so has who asks after a grant", func() { o.forget(key); o.of(key, c.count) }, 4},
			{"what nobody asks for is not kept", func() { time.Sleep(time.Minute); o.forget(key); o.of(key, c.count) }, 5},
		} {
			if step.does(); c.times != step.counted {
				t.Fatalf("%s: counted %d times, want %d", step.promise, c.times, step.counted)
			}
		}
		if len(o.groups) != 1 {
			t.Errorf("%d groups are kept", len(o.groups))
		}
	})
}

func TestWhatTakesLongToCountStandsForLonger(t *testing.T) {
	for takes, stands := range map[time.Duration]time.Duration{
		0: standsLeast, 5 * time.Millisecond: 200 * time.Millisecond, time.Second: standsMost,
	} {
		synctest.Test(t, func(t *testing.T) {
			var o outlooks
			c := counter{takes: takes}
			o.of(plan.Key{}, c.count)
			time.Sleep(stands - 1)
			if o.of(plan.Key{}, c.count); c.times != 1 {
				t.Errorf("what took %s stands for less than %s", takes, stands)
			}
			time.Sleep(time.Nanosecond)
			if o.of(plan.Key{}, c.count); c.times != 2 {
				t.Errorf("what took %s stands for more than %s", takes, stands)
			}
		})
	}
}

func TestNobodyWaitsForWhatIsCountedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outlooks
		c := counter{takes: 100 * time.Millisecond}
		ask := func() (waited time.Duration) {
			began := time.Now()
			o.of(plan.Key{}, c.count)
			return time.Since(began)
		}
		go ask()
		synctest.Wait()
		if waited := ask(); waited != c.takes || c.times != 1 {
			t.Errorf("the second one waited for %s, counted %d times", waited, c.times)
		}
		time.Sleep(standsMost)
		go ask()
		synctest.Wait()
		if waited := ask(); waited != 0 || c.times != 2 {
			t.Errorf("one who asks when it is counted anew waited for %s, counted %d times", waited, c.times)
		}
		o.forget(plan.Key{})
		time.Sleep(c.takes)
		if ask(); c.times != 3 {
			t.Errorf("what was forgotten while it was counted stands, counted %d times", c.times)
		}
	})
}
