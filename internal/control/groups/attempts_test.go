package groups_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// The executor sends a limited number of requests in a limited time. It sends them in this order.
func TestRequestsThatWereSentComeAfterAllOthers(t *testing.T) {
	synctest.Test(t, requestsThatWereSentComeAfterAllOthers)
}

func requestsThatWereSentComeAfterAllOthers(t *testing.T) {
	const broken = rolling + "zone-a rev=2 current=1\n zone-a-0 failing@1 zone-a-1 failing@1 zone-a-2 failing@1\n"
	w := world{}
	c, _ := newController(&w)
	no := errors.New("refused")
	for n, round := range []struct {
		want string
		done []plan.Receipt
	}{
		{"0 1 2", []plan.Receipt{{Step: deletion(0)}, {Step: deletion(1)}, {Step: deletion(2)}}}, // of a plan that is carried out, nothing is kept
		{"0 1 2", []plan.Receipt{{Step: deletion(0), Err: no}, {Step: deletion(1)}}},             // 2 was left out
		{"2 0 1", []plan.Receipt{{Step: deletion(2), Err: no}}},
		{"0 1 2", []plan.Receipt{{Step: deletion(0), Err: no}, {Step: deletion(1), Err: plan.ErrNotSent}}},
		{"1 2 0", nil},
		{"1 2 0", []plan.Receipt{{Step: deletion(1)}, {Step: deletion(2)}, {Step: deletion(0)}}},
	} {
		w.cached, w.live, w.done, w.ran = today(broken), today("live\n"+broken), round.done, nil
		if _, err := c.Reconcile(t.Context(), store); err != nil || len(w.ran) != 1 {
			t.Fatalf("round %d: %q, %v", n, w.ran, err)
		}
		var got []string
		for step := range strings.SplitSeq(w.ran[0], "; ") {
			if pod, is := strings.CutPrefix(step, "delete zone-a-"); is {
				got = append(got, pod[:1])
			}
		}
		if got := strings.Join(got, " "); got != round.want {
			t.Errorf("round %d: deletes %s, want %s", n, got, round.want)
		}
		if report := w.reported[len(w.reported)-1]; !strings.HasPrefix(report, "delete zone-a-0") {
			t.Errorf("round %d: the report has another order: %s", n, report)
		}
		time.Sleep(time.Second)
	}
	c.Forget(store)
	w.cached, w.live, w.ran = today(broken), today("live\n"+broken), nil
	if _, err := c.Reconcile(t.Context(), store); err != nil || !strings.HasPrefix(w.ran[0], "delete zone-a-0") {
		t.Errorf("after the group was forgotten: %q, %v", w.ran, err)
	}
}

// Crash-looping pods are ready for a moment now and then.
func TestPodsThatAreInEverySecondPlanStarveNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plans := [2]string{}
		for half := range plans {
			text := rolling + "zone-a rev=2 current=1\n"
			for i := range 24 {
				text += fmt.Sprintf(" zone-a-%d %s@1\n", i, map[bool]string{true: "ready", false: "failing"}[i%2 == half])
			}
			plans[half] = text + "zone-b rev=2 current=1\n zone-b-0 failing@1\n"
		}
		x := tenAtATime{}
		c, _ := newController(&world{})
		c.Executor = &x
		for n := range 4 {
			w := world{cached: today(plans[n%2]), live: today("live\n" + plans[n%2])}
			c.Observer = &w
			_, _ = c.Reconcile(t.Context(), store)
			time.Sleep(time.Second)
		}
		if !slices.Contains(x.sent, "zone-b-0") {
			t.Errorf("sent %q", x.sent)
		}
	})
}

// tenAtATime is an executor that sends ten deletes of each plan, all of which are refused.
type tenAtATime struct{ sent []string }

func (x *tenAtATime) Run(_ context.Context, _ plan.Workload, steps []plan.Action, _ hold.Decision) ([]plan.Receipt, error) {
	no := errors.New("refused")
	var done []plan.Receipt
	for _, step := range plan.In(plan.Disrupting, steps)[:10] {
		x.sent = append(x.sent, step.Effect().Pod)
		done = append(done, plan.Receipt{Step: step, Err: no})
	}
	return done, no
}

func deletion(ordinal int) plan.DeletePod {
	return plan.DeletePod{Zone: "zone-a", Pod: plan.PodName("zone-a", ordinal)}
}
