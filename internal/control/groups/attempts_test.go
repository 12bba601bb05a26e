package groups_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// The executor sends a limited number of requests in a limited time. It sends them in this order.
func TestRequestsThatFailedComeAfterAllOthers(t *testing.T) {
	const broken = rolling + "zone-a rev=2 current=1\n zone-a-0 failing@1 zone-a-1 failing@1 zone-a-2 failing@1\n"
	w := world{}
	c, _ := newController(&w)
	no := errors.New("refused")
	for n, round := range []struct {
		want string
		done []plan.Receipt
	}{
		{"0 1 2", []plan.Receipt{{Step: deletion(0), Err: no}, {Step: deletion(1)}}}, // 2 was left out
		{"1 2 0", []plan.Receipt{{Step: deletion(1), Err: no}}},
		{"2 0 1", []plan.Receipt{{Step: deletion(2)}, {Step: deletion(0), Err: no}}},
		{"2 1 0", []plan.Receipt{{Step: deletion(0)}, {Step: deletion(1)}}},
		{"0 1 2", []plan.Receipt{{Step: deletion(1), Err: no}}},
		{"0 2 1", nil},
		{"0 2 1", nil},
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
	}
	c.Forget(store)
	w.cached, w.live, w.ran = today(broken), today("live\n"+broken), nil
	if _, err := c.Reconcile(t.Context(), store); err != nil || !strings.HasPrefix(w.ran[0], "delete zone-a-0") {
		t.Errorf("after the group was forgotten: %q, %v", w.ran, err)
	}
}

func deletion(ordinal int) plan.DeletePod {
	return plan.DeletePod{Zone: "zone-a", Pod: plan.PodName("zone-a", ordinal)}
}
