package hold_test

import (
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestAGroupIsReconciledAtTheEarliestDueTime(t *testing.T) {
	now := fixture.Now()
	wait := func(until time.Time) plan.Action {
		return plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: reason.PodNotYetAvailable, Until: until}}
	}
	mine := group.Hold{Hold: plan.Hold{Exists: true, Own: true, Holder: plan.RolloutOperation.For("zone-a"), Renewed: now, Duration: hold.Duration}}
	theirs := group.Hold{Hold: plan.Hold{Exists: true, Holder: "manual/x", Renewed: now.Add(-time.Minute), Duration: 90 * time.Second}}
	overdue := mine
	overdue.Renewed = now.Add(-hold.Duration)
	for sentence, tc := range map[string]struct {
		hold     group.Hold
		contest  group.Contest
		steps    []plan.Action
		decision hold.Decision
		want     time.Duration // 0: wait only for events
	}{
		"a settled group waits for events":              {},
		"a wait ends by time":                           {steps: []plan.Action{wait(now.Add(5 * time.Second))}, want: 5 * time.Second},
		"a wait without an end is reported":             {steps: []plan.Action{wait(time.Time{})}, want: hold.ReportAfter},
		"a wait with a late end is reported in between": {steps: []plan.Action{wait(now.Add(time.Hour))}, want: hold.ReportAfter},
		"a time in the past is retried after a pause":   {steps: []plan.Action{wait(now)}, want: hold.ReconcileAgainAfter},
		"a hold is renewed":                             {hold: mine, want: hold.RenewEvery},
		"an overdue renewal is retried after a pause":   {hold: overdue, want: hold.ReconcileAgainAfter},
		"a hold that is written now is renewed later":   {hold: overdue, decision: hold.Decision{Need: hold.Write, Record: mine.Record()}, want: hold.RenewEvery},
		"a hold from outside expires":                   {hold: theirs, want: 30 * time.Second},
		"a contest is over":                             {contest: group.Contest{Overwrites: 3, Last: now.Add(-5 * time.Minute)}, want: 10 * time.Minute},
		"a contest that was not reported needs no time": {contest: group.Contest{Overwrites: 2, Last: now.Add(-5 * time.Minute)}},
		"the earliest of several times counts":          {hold: mine, steps: []plan.Action{wait(now.Add(time.Hour)), wait(now.Add(7 * time.Second))}, want: 7 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, due := hold.NextReconcile(&group.Snapshot{Now: now, Hold: tc.hold, Zones: []group.Zone{{Contest: tc.contest}}}, tc.steps, tc.decision)
			if got != tc.want || due != (tc.want != 0) {
				t.Errorf("reconciled again after %v (%t), want %v", got, due, tc.want)
			}
		})
	}
}

func TestALiveReadIncludesTheLeaseIfNoneIsKnownOrADownscaleIsRecorded(t *testing.T) {
	for sentence, tc := range map[string]struct {
		hold group.Hold
		want bool
	}{
		"no Lease is known":       {group.Hold{}, true},
		"a downscale is recorded": {group.Hold{Hold: plan.Hold{Exists: true}, Part: group.Part{Downscale: group.Downscale{Zone: "zone-a"}}}, true},
		"a rollout has the hold":  {group.Hold{Hold: plan.Hold{Exists: true, Holder: plan.RolloutOperation.For("zone-a")}}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := hold.LiveReadNeedsLease(tc.hold.Record()); got != tc.want {
				t.Errorf("the Lease is read: %t, want %t", got, tc.want)
			}
		})
	}
}
