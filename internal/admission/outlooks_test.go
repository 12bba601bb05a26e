package admission

import (
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestAGroupIsCountedOnceForAllWhoAskAtATime(t *testing.T) {
	var o outlooks
	counted := 0
	count := func() plan.Outlook { counted++; return plan.OutlookOf(plan.Snapshot{}) }
	key, other, noon := plan.Key{Group: "store"}, plan.Key{Group: "other"}, time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		promise string
		does    func()
		counted int
	}{
		{"who asks first has it counted", func() { o.of(key, count, noon) }, 1},
		{"who asks meanwhile does not", func() { o.of(key, count, noon.Add(fresh-1)) }, 1},
		{"another group is counted itself", func() { o.of(other, count, noon) }, 2},
		{"who asks later has it counted anew", func() { o.of(key, count, noon.Add(fresh)) }, 3},
		{"and so has who asks after a grant", func() { o.forget(key); o.of(key, count, noon.Add(fresh)) }, 4},
		{"what nobody asks for is not kept", func() { o.of(key, count, noon.Add(time.Minute)) }, 5},
	} {
		if step.does(); counted != step.counted {
			t.Fatalf("%s: counted %d times, want %d", step.promise, counted, step.counted)
		}
	}
	if len(o.groups) != 1 {
		t.Errorf("%d groups are kept", len(o.groups))
	}
}
