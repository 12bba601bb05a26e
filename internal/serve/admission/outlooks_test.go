package admission

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// counter counts groups. Its result contains the number of counts so far.
type counter struct {
	takes time.Duration
	times int
}

func (c *counter) count() outlook {
	c.times++
	found := group.Snapshot{Key: store, Zones: []group.Zone{{Name: fmt.Sprint("zone-", c.times), Pods: []plan.Pod{{Name: "pod", UID: "uid"}}}}}
	time.Sleep(c.takes)
	return group.OutlookOf(found)
}

// delivered returns the number of the count that an outlook comes from.
func delivered(o outlook) (n int) {
	if _, err := fmt.Sscanf(o.Evict(plan.EvictionRequest{Pod: "pod", UID: "uid"}).Zone, "zone-%d", &n); err != nil {
		panic(err)
	}
	return n
}

var store = plan.Key{Namespace: "team", Name: "store"}

func TestConcurrentRequestsShareOneCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outlooks
		var c counter
		other := plan.Key{Namespace: "team", Name: "other"}
		for _, step := range []struct {
			promise   string
			after     time.Duration
			key       plan.Key
			delivered int
		}{
			{"the first request causes a count", 0, store, 1},
			{"a request in the meantime does not", validLeast - 1, store, 1},
			{"another group is counted itself", 0, other, 2},
			{"a later request causes a new count", 1, store, 3},
			{"however much later", time.Hour, store, 4},
		} {
			time.Sleep(step.after)
			if got := delivered(o.of(step.key, c.count)); got != step.delivered || c.times != step.delivered {
				t.Fatalf("%s: got count %d of %d, want %d", step.promise, got, c.times, step.delivered)
			}
		}
		if len(o.groups) != 1 {
			t.Errorf("%d groups are kept, also those without requests", len(o.groups))
		}
		o.forget(store)
		if got := delivered(o.of(store, c.count)); got != 5 {
			t.Errorf("a request after a grant gets count %d", got)
		}
	})
}

func TestSlowCountsAreValidForLonger(t *testing.T) {
	for takes, stands := range map[time.Duration]time.Duration{
		0: validLeast, 5 * time.Millisecond: 200 * time.Millisecond, time.Second: validMost,
	} {
		synctest.Test(t, func(t *testing.T) {
			var o outlooks
			c := counter{takes: takes}
			o.of(store, c.count)
			time.Sleep(stands - 1)
			if got := delivered(o.of(store, c.count)); got != 1 {
				t.Errorf("the count that took %s is valid for less than %s", takes, stands)
			}
			time.Sleep(time.Nanosecond)
			if got := delivered(o.of(store, c.count)); got != 2 {
				t.Errorf("the count that took %s is valid for more than %s", takes, stands)
			}
		})
	}
}

// reply is the result of a request during a count.
type reply struct {
	delivered int
	waited    time.Duration
}

func TestRequestsDuringACountGetAResultThatIsNotTooOld(t *testing.T) {
	const takes = 100 * time.Millisecond
	for promise, tc := range map[string]struct {
		before time.Duration // time since the end of the last count; negative: there is none
		yes    bool          // the request is for a grant
		want   reply
	}{
		"no count before: they wait":             {-1, false, reply{1, takes}},
		"the last count has just become too old": {validMost, false, reply{1, 0}},
		"the last count is too old: they wait":   {validMost + staleGrace, false, reply{2, takes}},
		"a yes waits for the next count":         {validMost, true, reply{3, 2 * takes}},
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
				send, answers := o.of, make(chan reply)
				if tc.yes {
					send = o.fresh
				}
				for range 3 {
					go func() {
						began := time.Now()
						n := delivered(send(store, c.count))
						answers <- reply{n, time.Since(began)}
					}()
				}
				got := []reply{<-answers, <-answers, <-answers}
				if !slices.Equal(got, []reply{tc.want, tc.want, tc.want}) {
					t.Errorf("%s: got %v, want %v", promise, got, tc.want)
				}
				synctest.Wait()
				time.Sleep(takes)
			})
		})
	}
}

func TestCountForgottenWhileItRunsIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outlooks
		c := counter{takes: 100 * time.Millisecond}
		go o.of(store, c.count)
		synctest.Wait()
		o.forget(store)
		time.Sleep(c.takes)
		if got := delivered(o.of(store, c.count)); got != 2 {
			t.Errorf("got count %d", got)
		}
	})
}

func TestPanickedCountIsRepeated(t *testing.T) {
	var o outlooks
	var c counter
	func() {
		defer func() { _ = recover() }()
		o.of(store, func() outlook { panic("a mistake") })
	}()
	if got := delivered(o.of(store, c.count)); got != 1 {
		t.Errorf("got count %d", got)
	}
}
