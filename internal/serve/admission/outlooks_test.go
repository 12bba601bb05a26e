package admission

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// counter counts groups: what it finds in one is how often it has counted by then.
type counter struct {
	takes time.Duration
	times int
}

func (c *counter) count() plan.Outlook {
	c.times++
	found := plan.Snapshot{Key: store, Zones: []plan.Zone{{Name: fmt.Sprint("zone-", c.times), Pods: []plan.Pod{{Name: "pod", UID: "uid"}}}}}
	time.Sleep(c.takes)
	return plan.OutlookOf(found)
}

// heard tells which count an outlook is from.
func heard(o plan.Outlook) (n int) {
	if _, err := fmt.Sscanf(o.Evict(plan.EvictionRequest{Pod: "pod", UID: "uid"}).Zone, "zone-%d", &n); err != nil {
		panic(err)
	}
	return n
}

var store = plan.Key{Namespace: "team", Name: "store"}

func TestAGroupIsCountedOnceForAllWhoAskAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outlooks
		var c counter
		other := plan.Key{Namespace: "team", Name: "other"}
		for _, step := range []struct {
			promise string
			after   time.Duration
			key     plan.Key
			heard   int
		}{
			{"who asks first has it counted", 0, store, 1},
			{"who asks meanwhile does not", standsLeast - 1, store, 1},
			{"another group is counted itself", 0, other, 2},
			{"who asks later has it counted anew", 1, store, 3},
			{"however much later", time.Hour, store, 4},
		} {
			time.Sleep(step.after)
			if got := heard(o.of(step.key, c.count)); got != step.heard || c.times != step.heard {
				t.Fatalf("%s: heard count %d of %d, want %d", step.promise, got, c.times, step.heard)
			}
		}
		if len(o.groups) != 1 {
			t.Errorf("%d groups are kept, also those that nobody asks for", len(o.groups))
		}
		o.forget(store)
		if got := heard(o.of(store, c.count)); got != 5 {
			t.Errorf("who asks after a grant hears count %d", got)
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
			o.of(store, c.count)
			time.Sleep(stands - 1)
			if got := heard(o.of(store, c.count)); got != 1 {
				t.Errorf("what took %s stands for less than %s", takes, stands)
			}
			time.Sleep(time.Nanosecond)
			if got := heard(o.of(store, c.count)); got != 2 {
				t.Errorf("what took %s stands for more than %s", takes, stands)
			}
		})
	}
}

// asked is what somebody heard who asked while a group was counted.
type asked struct {
	heard  int
	waited time.Duration
}

func TestWhoAsksWhileItIsCountedHearsWhatIsNotTooOld(t *testing.T) {
	const takes = 100 * time.Millisecond
	for promise, tc := range map[string]struct {
		before time.Duration // that the last count was over; negative: there is none
		yes    bool          // asked for a yes
		want   asked
	}{
		"nobody has counted before: they wait":   {-1, false, asked{1, takes}},
		"the last count has just ended to stand": {standsMost, false, asked{1, 0}},
		"the last count is too old: they wait":   {standsMost + heardLonger, false, asked{2, takes}},
		"a yes waits for the next count":         {standsMost, true, asked{3, 2 * takes}},
	} {
		t.Run(promise, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o outlooks
				c := counter{takes: takes}
				if tc.before >= 0 {
					o.of(store, c.count)
					time.Sleep(tc.before)
				}
				go o.of(store, c.count)
				synctest.Wait()
				ask, answers := o.of, make(chan asked)
				if tc.yes {
					ask = o.anew
				}
				for range 3 {
					go func() {
						began := time.Now()
						n := heard(ask(store, c.count))
						answers <- asked{n, time.Since(began)}
					}()
				}
				got := []asked{<-answers, <-answers, <-answers}
				if !slices.Equal(got, []asked{tc.want, tc.want, tc.want}) {
					t.Errorf("%s: heard %v, want %v", promise, got, tc.want)
				}
				synctest.Wait()
				time.Sleep(takes)
			})
		})
	}
}

func TestWhatWasForgottenWhileItWasCountedDoesNotStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outlooks
		c := counter{takes: 100 * time.Millisecond}
		go o.of(store, c.count)
		synctest.Wait()
		o.forget(store)
		time.Sleep(c.takes)
		if got := heard(o.of(store, c.count)); got != 2 {
			t.Errorf("heard count %d", got)
		}
	})
}

func TestACountThatFailsIsMadeAnew(t *testing.T) {
	var o outlooks
	var c counter
	func() {
		defer func() { _ = recover() }()
		o.of(store, func() plan.Outlook { panic("a mistake") })
	}()
	if got := heard(o.of(store, c.count)); got != 1 {
		t.Errorf("heard count %d", got)
	}
}
