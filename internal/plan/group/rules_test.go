package group_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestBudgetInPods(t *testing.T) {
	for sentence, tc := range map[string]struct {
		budget   plan.Budget
		replicas int
		want     int
	}{
		"no budget is one pod":                       {plan.Budget{}, 3, 1},
		"a number is that many pods":                 {plan.Budget{Pods: 2}, 3, 2},
		"a number may exceed the replicas":           {plan.Budget{Pods: 9}, 3, 9},
		"a percentage is rounded down":               {plan.Budget{Percent: 50}, 3, 1},
		"a percentage that is even stays so":         {plan.Budget{Percent: 50}, 4, 2},
		"a percentage is at least one pod":           {plan.Budget{Percent: 1}, 3, 1},
		"a percentage of no replicas is one pod":     {plan.Budget{Percent: 50}, 0, 1},
		"all of them is all of them":                 {plan.Budget{Percent: 100}, 7, 7},
		"99% of 100 does not round up":               {plan.Budget{Percent: 99}, 100, 99},
		"the largest zone does not overflow":         {plan.Budget{Percent: 100}, 1<<31 - 1, 1<<31 - 1},
		"half of the largest zone does not overflow": {plan.Budget{Percent: 50}, 1<<31 - 1, 1<<30 - 1},
		"an invalid budget is one pod":               {plan.Budget{Invalid: "101%"}, 200, 1},
		"a negative number is one pod":               {plan.Budget{Pods: -3}, 3, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := tc.budget.Of(tc.replicas); got != tc.want {
				t.Errorf("%s of %d replicas: got %d, want %d", tc.budget, tc.replicas, got, tc.want)
			}
		})
	}
}

func TestBudgetReadsAsItIsWritten(t *testing.T) {
	for want, budget := range map[string]plan.Budget{
		"1": {}, "2": {Pods: 2}, "25%": {Percent: 25},
	} {
		if got := budget.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestNaturalOrder(t *testing.T) {
	for _, ascending := range [][]string{
		{"zone-2", "zone-10"},
		{"zone-a", "zone-b"},
		{"zone", "zone-a"},
		{"", "a"},
		{"a-2-b", "a-10-a"},
		{"1", "a"},
		{"zone-01", "zone-1", "zone-02", "zone-2", "zone-010"},
		{"z9999999999999999999998", "z9999999999999999999999", "z10000000000000000000000"},
		{"a-b2", "a-b2-c", "a-b10"},
	} {
		for i := range ascending {
			for j := range ascending {
				got := sign(plan.CompareNatural(ascending[i], ascending[j]))
				if want := sign(i - j); got != want {
					t.Errorf("%q compared with %q: got %d, want %d", ascending[i], ascending[j], got, want)
				}
			}
		}
	}
}

func sign(n int) int { return max(-1, min(1, n)) }

func TestNaturalOrderIsTotal(t *testing.T) {
	name := rapid.StringMatching(`[a01\-9.]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		ab, ba := plan.CompareNatural(a, b), plan.CompareNatural(b, a)
		if sign(ab) != -sign(ba) {
			t.Fatalf("%q and %q: %d one way, %d the other", a, b, ab, ba)
		}
		if (ab == 0) != (a == b) {
			t.Fatalf("%q and %q compare as %d", a, b, ab)
		}
		if ab <= 0 && plan.CompareNatural(b, c) <= 0 && plan.CompareNatural(a, c) > 0 {
			t.Fatalf("%q <= %q <= %q, but not the first and the last", a, b, c)
		}
	})
}

func TestOrdinals(t *testing.T) {
	for sentence, tc := range map[string]struct {
		set, pod string
		want     int
		ok       bool
	}{
		"the ordinal follows the name of the StatefulSet":   {"zone-a", "zone-a-12", 12, true},
		"zero is an ordinal":                                {"zone-a", "zone-a-0", 0, true},
		"a name may end in a number":                        {"zone-1", "zone-1-2", 2, true},
		"a longer name belongs to another StatefulSet":      {"zone", "zone-1-2", 0, false},
		"a pod of another StatefulSet has no ordinal":       {"zone-a", "zone-b-0", 0, false},
		"leading zeros are no ordinal":                      {"zone-a", "zone-a-01", 0, false},
		"a sign is no ordinal":                              {"zone-a", "zone-a-+1", 0, false},
		"two dashes are no ordinal":                         {"zone-a", "zone-a--1", 0, false},
		"an empty ordinal is no ordinal":                    {"zone-a", "zone-a-", 0, false},
		"the largest ordinal is an ordinal":                 {"zone-a", "zone-a-2147483647", 2147483647, true},
		"a number beyond the largest ordinal is no ordinal": {"zone-a", "zone-a-2147483648", 0, false},
		"digits of other scripts are no digits":             {"zone-a", "zone-a-٣", 0, false},
		"a name without an ordinal has no ordinal":          {"zone-a", "zone-a", 0, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, ok := plan.OrdinalOf(tc.set, tc.pod)
			if got != tc.want || ok != tc.ok {
				t.Errorf("OrdinalOf(%q, %q) = %d, %t; want %d, %t", tc.set, tc.pod, got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestOrdinalsComeBackFromPodNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?`).Draw(t, "set")
		want := int(rapid.Int32Min(0).Draw(t, "ordinal"))
		if got, ok := plan.OrdinalOf(set, plan.PodName(set, want)); !ok || got != want {
			t.Fatalf("got %d, %t; want %d", got, ok, want)
		}
	})
}

func TestIntentStatus(t *testing.T) {
	at := func(uid string, v plan.Version) plan.Intent { return fixture.IntentAt("zone-a-1", uid, v) }
	for sentence, tc := range map[string]struct {
		group  string
		intent plan.Intent
		want   plan.IntentStatus
	}{
		"a pod at the recorded version can still be deleted":                            {one("ready@1"), at("zone-a-1", 10), plan.Pending},
		"an unavailable pod at the recorded version can still be deleted":               {one("failing@1"), at("zone-a-1", 10), plan.Pending},
		"a pod beyond the recorded version can no longer be deleted":                    {one("ready@1 version=11"), at("zone-a-1", 10), plan.Obsolete},
		"a pod older than recorded shows that the view is behind":                       {one("ready@1"), at("zone-a-1", 11), plan.Open},
		"a terminating pod is not back yet":                                             {one("terminating@1 version=11"), at("zone-a-1", 10), plan.Open},
		"a terminating pod is open even at the recorded version":                        {one("terminating@1"), at("zone-a-1", 10), plan.Open},
		"an available replacement ends the intent":                                      {one("ready@2 uid=new version=12"), at("zone-a-1", 10), plan.Done},
		"a replacement that starts does not end the intent":                             {one("starting@2 uid=new version=12"), at("zone-a-1", 10), plan.Open},
		"a replacement that fails does not end the intent":                              {one("failing@2 uid=new version=12"), at("zone-a-1", 10), plan.Open},
		"an older pod of the name shows that the view is behind":                        {one("ready@1 uid=old version=5"), at("zone-a-1", 10), plan.Open},
		"a replacement that has not been Ready for long enough does not end the intent": {"zone-a rev=2 minReady=10s\n zone-a-1 ready@2 uid=new version=12 for=9s", at("zone-a-1", 10), plan.Open},
		"a replacement that has been Ready for long enough ends the intent":             {"zone-a rev=2 minReady=10s\n zone-a-1 ready@2 uid=new version=12 for=10s", at("zone-a-1", 10), plan.Done},
		"a missing pod that its zone requests is not back":                              {"zone-a rev=2 replicas=2", at("zone-a-1", 10), plan.Open},
		"a missing pod that its zone does not request is gone":                          {"live\nzone-a rev=2 replicas=1", at("zone-a-1", 10), plan.Done},
		"a cached zone may not show yet that it requests the pod again":                 {"zone-a rev=2 replicas=1", at("zone-a-1", 10), plan.Open},
		"a view older than the record does not show that a pod is gone":                 {"pods at 9\nzone-a rev=2 replicas=1", at("zone-a-1", 10), plan.Open},
		"a live read older than the record shows a restore":                             {"live\npods at 9\nzone-a rev=2 replicas=1", at("zone-a-1", 10), plan.Obsolete},
		"an older pod of the name in a live read shows a restore":                       {"live\n" + one("ready@1 uid=old version=5"), at("zone-a-1", 10), plan.Obsolete},
		"the same pod after a restore may be deleted for a while":                       {"live\n" + one("ready@1"), at("zone-a-1", 11), plan.Open},
		"a live read as new as the record shows that a pod is gone":                     {"live\npods at 10\nzone-a rev=2 replicas=1", at("zone-a-1", 10), plan.Done},
		"a missing pod below the start ordinal is gone":                                 {"live\nzone-a rev=2 start=2 replicas=1", at("zone-a-1", 10), plan.Done},
		"a cached zone may not show yet that it starts lower":                           {"zone-a rev=2 start=2 replicas=1", at("zone-a-1", 10), plan.Open},
		"a missing pod of a zone that left the group is gone":                           {"live\nzone-b rev=2", at("zone-a-1", 10), plan.Done},
		"a cache may not show yet that a zone is back":                                  {"zone-b rev=2", at("zone-a-1", 10), plan.Open},
		"a pod of a zone that left the group can still be deleted":                      {"zone-b rev=2\nstray zone-a-1 ready@1", at("zone-a-1", 10), plan.Pending},
		"a terminating pod of a zone that left is not gone":                             {"zone-b rev=2\nstray zone-a-1 terminating@1 version=11", at("zone-a-1", 10), plan.Open},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(tc.group)
			got := s.IntentStatus(tc.intent)
			if got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if counts := got == plan.Open || got == plan.Pending; got.Counts() != counts {
				t.Errorf("%v counts: %t", got, got.Counts())
			}
		})
	}
}

func TestPodsThatAGrantedEvictionMayStillDelete(t *testing.T) {
	granted := plan.Intent{UID: "recorded", Version: 10, Cause: reason.EvictionGranted}
	unbound, deletion := granted, granted
	unbound.Unbound, deletion.Cause = true, reason.OutdatedRevision
	for sentence, tc := range map[string]struct {
		intent  plan.Intent
		uid     string
		version plan.Version
		want    bool
	}{
		"the recorded pod at any version":                           {granted, "recorded", 12, true},
		"a pod that replaced the recorded pod":                      {granted, "next", 12, false},
		"a predecessor in an old view":                              {granted, "former", 5, true},
		"an unbound grant and a pod that replaced the recorded pod": {unbound, "next", 12, true},
		"a deletion by lockstep at another version":                 {deletion, "recorded", 10, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := tc.intent.MayTake(tc.uid, tc.version); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

// one returns a zone of two pods; the argument describes the second pod.
func one(pod string) string { return "zone-a rev=2\n zone-a-0 ready@2 zone-a-1 " + pod }

func TestHolders(t *testing.T) {
	for holder, tc := range map[plan.Holder]struct {
		operation     plan.Operation
		zone          string
		free, foreign bool
	}{
		"":                   {"", "", true, false},
		"rollout/zone-a":     {plan.RolloutOperation, "zone-a", false, false},
		"downscale/zone-a":   {plan.DownscaleOperation, "zone-a", false, false},
		"eviction/zone-a":    {plan.EvictionOperation, "zone-a", false, false},
		"manual/maintenance": {"manual", "maintenance", false, true},
		"outsider":           {"outsider", "", false, true},
		"Rollout/zone-a":     {"Rollout", "zone-a", false, true},
	} {
		if holder.Operation() != tc.operation || holder.Zone() != tc.zone || holder.Free() != tc.free || holder.Foreign() != tc.foreign {
			t.Errorf("%q: operation %q, zone %q, free %t, foreign %t", holder, holder.Operation(), holder.Zone(), holder.Free(), holder.Foreign())
		}
	}
	if got := plan.RolloutOperation.For("zone-a"); got != "rollout/zone-a" {
		t.Errorf("got %s", got)
	}
}

func TestAHoldExpiresAfterItsDurationNotAtItsEnd(t *testing.T) {
	h := group.Hold{Hold: plan.Hold{Renewed: fixture.Now(), Duration: time.Minute}}
	end := fixture.Now().Add(time.Minute)
	if h.Expired(end) {
		t.Error("expired at its very end")
	}
	if !h.Expired(end.Add(1)) {
		t.Error("not expired after its end")
	}
}

func TestWakeIsTheEarliestTime(t *testing.T) {
	at := func(d time.Duration) plan.Action {
		return plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: reason.PodNotYetAvailable, Until: fixture.Now().Add(d)}}
	}
	event := plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: reason.PodStarting}}
	for sentence, tc := range map[string]struct {
		steps []plan.Action
		want  time.Time
	}{
		"an empty plan sets no timer":                {nil, time.Time{}},
		"a wait for an event sets no timer":          {[]plan.Action{event}, time.Time{}},
		"the earlier of two times counts":            {[]plan.Action{at(9 * time.Second), event, at(4 * time.Second)}, fixture.Now().Add(4 * time.Second)},
		"actions have no time":                       {[]plan.Action{plan.DeletePod{}, at(time.Second)}, fixture.Now().Add(time.Second)},
		"a late time counts in addition to an event": {[]plan.Action{event, at(time.Hour)}, fixture.Now().Add(time.Hour)},
		"a release without waits sets no timer":      {[]plan.Action{plan.Release{}}, time.Time{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := plan.Wake(tc.steps); !got.Equal(tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// An outside writer overwrote the holder while an intent was open, and did not renew
// its hold.
func TestATimeInThePastSetsNoTimer(t *testing.T) {
	s := fixture.MustParse(`
hold manual/maintenance renewed 5m ago
  intent zone-a-0 version=20
zone-a rev=2 current=1
  zone-a-0 ready@1   zone-a-1 ready@1
`)
	steps := group.Plan(s)
	if wake := plan.Wake(steps); !wake.IsZero() && !wake.After(s.Now) {
		t.Errorf("the timer is set to %s ago\n%s", s.Now.Sub(wake), plan.Notation(steps))
	}
}

// zone-a-0 needs an event and must not hide zone-a-1, which needs only time. When
// zone-a-1 is available, zone-a-2 may be deleted, and no event says so.
func TestAStableTimeIsNotHiddenByAnotherPod(t *testing.T) {
	s := fixture.MustParse(`
hold rollout/zone-a
zone-a rev=2 current=1 budget=2 minReady=10s
  zone-a-0 starting@2   zone-a-1 ready@2 for=4s   zone-a-2 ready@1
`)
	steps := group.Plan(s)
	if got, want := plan.Wake(steps), s.Now.Add(6*time.Second); !got.Equal(want) {
		t.Errorf("woken at %v, want %v\n%s", got, want, plan.Notation(steps))
	}
}

// The intents of a group are stored in one annotation of limited size. The first 97 pods have been deleted, and are
// not seen again yet.
func TestAHoldCarriesAtMostAHundredIntents(t *testing.T) {
	for sentence, phase := range map[string]plan.Phase{
		"pods that are up": plan.Ready, "pods that are down": plan.Failing,
	} {
		t.Run(sentence, func(t *testing.T) {
			var intents []plan.Intent
			parts := []fixture.ZonePart{fixture.Budget(500), fixture.Replicas(300)}
			for ordinal := range 97 {
				intents = append(intents, fixture.IntentOf("zone-a-"+strconv.Itoa(ordinal)))
			}
			for ordinal := range 203 {
				parts = append(parts, fixture.Pod(97+ordinal, phase, "1"))
			}
			s := fixture.Group(fixture.Live(), fixture.Held("rollout/zone-a", intents...), fixture.Zone("zone-a", "2", parts...))
			decision := hold.Decide(&s, group.Plan(s))
			if n := len(decision.Record.Intents); n != 100 {
				t.Errorf("the hold carries %d intents, want 100", n)
			}
		})
	}
}

// Of three Ready pods that are not available yet, budget 1 permits one delete. Ready
// pods receive requests, so minReadySeconds does not permit more.
func TestReadyPodsThatAreNotAvailableYetAreNotDeletedTogether(t *testing.T) {
	s := fixture.MustParse(`
zone-a rev=2 current=1 minReady=1m
  zone-a-0 ready@1 for=10s   zone-a-1 ready@1 for=10s   zone-a-2 ready@1 for=10s
zone-b rev=1
  zone-b-0 ready@1
`)
	if taken := disruptions(group.Plan(s)); len(taken) > 1 {
		t.Errorf("%d ready pods are deleted at once with budget 1", len(taken))
	}
}

// Corrupted state: the hold is free, but a pod of a zone that left the group has an
// intent and is terminating. No pod of another zone may be disrupted, whatever the
// cause is.
func TestAnOpenIntentOfAVanishedZoneStopsDisruptions(t *testing.T) {
	s := fixture.MustParse(`
hold free
  intent zone-x-0
zone-a rev=2 current=1
  zone-a-0 ready@1
stray zone-x-0 terminating@1 version=11
`)
	if taken := disruptions(group.Plan(s)); len(taken) > 0 {
		t.Errorf("deleted: %v", taken)
	}
}

func TestNoRevisionIsNeverAdopted(t *testing.T) {
	s := fixture.MustParse("zone-a rev=\"\" current=1\n  zone-a-0 ready@1\n")
	for _, step := range group.Plan(s) {
		if adopt, ok := step.(group.AdoptRevision); ok && adopt.Revision == "" {
			t.Errorf("%q", adopt)
		}
	}
}

func TestRemarks(t *testing.T) {
	s := fixture.MustParse("group team \"\"\nzone-a rev=1 budget=0%\nzone-b rev=1 budget=2\n")
	var got []string
	for _, remark := range group.Remarks(s) {
		got = append(got, remark.String())
	}
	want := []string{"wait zone-a because EmptyGroupName", "wait zone-a because InvalidMaxUnavailable (0%)", "wait zone-b because EmptyGroupName"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestARemarkExplainsOnePodAtATimeWhileBudgetsCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		alone bool
		want  []string
	}{
		"a budget of several pods":      {text: "zpdbs unread\nzone-a rev=2 current=1 budget=2\n  zone-a-0 ready@1\n", want: []string{"wait zone-a because BudgetsUnread"}},
		"a budget of one pod":           {text: "zpdbs unread\nzone-a rev=2 current=1\n  zone-a-0 ready@1\n"},
		"no outdated pod":               {text: "zpdbs unread\nzone-a rev=2 budget=2\n  zone-a-0 ready@2\n"},
		"a StatefulSet without a group": {text: "zpdbs unread\nzone-a rev=2 current=1 budget=2\n  zone-a-0 ready@1\n", alone: true},
		"budgets that can be read":      {text: "zone-a rev=2 current=1 budget=2\n  zone-a-0 ready@1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := fixture.MustParse(c.text)
			if c.alone {
				s.Key.Kind = plan.KindStatefulSet
			}
			var got []string
			for _, remark := range group.Remarks(s) {
				got = append(got, remark.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// Every action has one line that says what it does and why. These lines are compared,
// logged and searched.
func TestNotation(t *testing.T) {
	intent := fixture.IntentOf("zone-a-0")
	for want, step := range map[string]plan.Action{
		"delete zone-a-0 of zone-a because OutdatedAndUnavailable": plan.DeletePod{Zone: "zone-a", Pod: "zone-a-0", Because: reason.OutdatedAndUnavailable},
		"cancel deletion of zone-a-0 of zone-a because Paused":     plan.CancelDeletion{Intent: intent, Because: plan.Refusal{Code: reason.Paused}},
		"adopt 2 in zone-a":      group.AdoptRevision{Zone: "zone-a", Revision: "2"},
		"release rollout/zone-a": plan.Release{Holder: "rollout/zone-a"},
		"wait zone-b because OtherZoneUnavailable zone-a-1 of zone-a (PodStarting)": plan.Wait{Zone: "zone-b", Because: plan.Refusal{Code: reason.OtherZoneUnavailable, Zone: "zone-a", Pod: "zone-a-1", Detail: "PodStarting"}},
		"wait zone-b because no objection":                                          plan.Wait{Zone: "zone-b"},
		"wait zone-a because PodFailing zone-a-0 (CrashLoopBackOff)":                plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: reason.PodFailing, Pod: "zone-a-0", Detail: "CrashLoopBackOff"}},
		"wait zone-b because GroupHeld zone-a (rollout/zone-a)":                     plan.Wait{Zone: "zone-b", Because: plan.Refusal{Code: reason.GroupHeld, Zone: "zone-a", Detail: "rollout/zone-a"}},
	} {
		if got := step.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if _, waits := step.(plan.Wait); !waits && step.Reason() == "" {
			t.Errorf("%s gives no reason", want)
		}
	}
	if got := plan.Notation([]plan.Action{plan.Release{Holder: "a"}, plan.Release{Holder: "b"}}); strings.Count(got, "\n") != 1 {
		t.Errorf("not one line per action: %q", got)
	}
}

func TestPhasesAndStatusesHaveNames(t *testing.T) {
	got := fmt.Sprint(plan.Starting, plan.Failing, plan.Ready, plan.Terminating, plan.Phase(9), plan.Open, plan.Pending, plan.Done, plan.Obsolete, plan.IntentStatus(9))
	if want := "starting failing ready terminating Phase(9) open pending done obsolete IntentStatus(9)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAHoldWithoutATimeIsRespectedAndSetsNoTimer(t *testing.T) {
	for sentence, change := range map[string]func(*group.Hold){
		"no time of renewal": func(h *group.Hold) { h.Renewed = time.Time{} },
		"no duration":        func(h *group.Hold) { h.Duration = 0 },
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("hold manual/maintenance\nzone-a rev=2\n zone-a-0 ready@1")
			change(&s.Hold)
			steps := group.Plan(s)
			if got, want := plan.Notation(steps), "wait zone-a because GroupHeld (held from outside lockstep)"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if wake := plan.Wake(steps); !wake.IsZero() {
				t.Errorf("woken at %s, although nothing ends by time", wake)
			}
		})
	}
}

func TestARolloutsHoldIsNeverCalledStale(t *testing.T) {
	s := fixture.MustParse("hold rollout/zone-a renewed 1h ago\nzone-a rev=2\n zone-a-0 starting@2\nzone-b rev=2\n zone-b-0 ready@1")
	for _, step := range group.Plan(s) {
		if step.Reason() == reason.StaleHold {
			t.Errorf("the plan reports %q although it renews the hold", step)
		}
	}
}

// A tenant may create any number of zones.
func TestALongChainOfLeadersIsFollowedAtOnce(t *testing.T) {
	const zones = 300
	parts := []fixture.Part{fixture.Zone("zone-0", "1", fixture.Pods("1", "1"))}
	for i := 1; i < zones; i++ {
		parts = append(parts, fixture.Zone(fmt.Sprintf("zone-%d", i), "1", fixture.Pods("1"), fixture.Follows(fmt.Sprintf("zone-%d", i-1))))
	}
	began := time.Now()
	raised := 0
	for _, step := range group.Plan(fixture.Group(parts...)) {
		if a, ok := step.(group.SetReplicas); ok && a.To == 2 {
			raised++
		}
	}
	if took := time.Since(began); raised != zones-1 || took > 5*time.Second {
		t.Errorf("%d zones are scaled up, want %d; it took %s", raised, zones-1, took)
	}
}

func TestRemarksReportForcedReplicas(t *testing.T) {
	s := fixture.MustParse("zone-a rev=1 force=2\n zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1 force=many\n zone-b-0 ready@1\n")
	var got []string
	for _, remark := range group.Remarks(s) {
		got = append(got, remark.String())
	}
	want := []string{"wait zone-a because ReplicasForced (2 replicas)", "wait zone-b because InvalidForceReplicas (many)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADownscaleThatIsRecordedAgainGetsNoMoreTimeForItsStage(t *testing.T) {
	for sentence, tc := range map[string]struct {
		former, last string // the record in the hold, and the pod that is to be deleted
		stage        group.Stage
		since        time.Duration
	}{
		"a pod that became ready is called in the remaining time":     {`admitted own calls called="1 0" since=3s`, "ready@1 ip=10.0.0.2", group.Preparing, 3 * time.Second},
		"a pod that was being called is called in the remaining time": {"preparing own calls since=20s", "ready@1 ip=10.0.0.2", group.Preparing, 20 * time.Second},
		"without a pod to call, the update gets its full time":        {"preparing own calls since=20s", "starting@1", group.Admitted, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(`
live
hold downscale/zone-b
  downscale zone-b from 2 to 1 ` + tc.former + `
zone-a rev=1
  zone-a-0 ready@1
zone-b rev=1 leader=zone-a version=11 prepares
  zone-b-0 ready@1 ip=10.0.0.1   zone-b-1 ` + tc.last + "\n")
			recorded := s.Hold.Downscale
			for _, step := range group.Plan(s) {
				if n, is := step.(group.RecordDownscale); is {
					recorded = n.Downscale
				}
			}
			if recorded.Version != 11 || recorded.Stage != tc.stage || !recorded.Since.Equal(s.Now.Add(-tc.since)) {
				t.Errorf("recorded %s at version %d since %s, want %s at version 11 since %s", recorded, recorded.Version, s.Now.Sub(recorded.Since), tc.stage, tc.since)
			}
		})
	}
}

// Pods that the former downscale deletes were called to prepare. If the hold lost that
// record, they would not be notified that they stay after all.
func TestTheFormerDownscaleIsKnownByItsCall(t *testing.T) {
	const next = "zone-a rev=1 replicas=2 version=11 leader=zone-b prepares\n" +
		"  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 %s zone-a-2 ready@1 ip=10.0.0.3 zone-a-3 terminating@1 ip=10.0.0.4\nzone-b rev=1\n  zone-b-0 ready@1\n"
	for sentence, tc := range map[string]struct{ hold, last, want string }{
		"no pod received the call of the next downscale": {
			"downscale zone-a from 2 to 1 preparing own calls version=11\n  called zone-a-1 undelivered failed=\"cannot be reached\"", "ready@1 ip=10.0.0.2",
			"record zone-a from 4 to 2 admitted because PreparationFailed",
		},
		"no pod has to be called for the next downscale": {
			"downscale zone-a from 2 to 1 admitted own since=6s", "starting@1",
			"record zone-a from 4 to 2 admitted because DownscaleDetected",
		},
		"the next downscale uses another call": {
			"downscale zone-a from 4 to 2 admitted calls path=/other version=9", "ready@1 ip=10.0.0.2", "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("live\nhold downscale/zone-a\n  " + tc.hold + "\n" + fmt.Sprintf(next, tc.last))
			var recorded group.RecordDownscale
			text := ""
			for _, step := range group.Plan(s) {
				if n, is := step.(group.RecordDownscale); is {
					recorded, text = n, n.String()
				}
			}
			if text != tc.want || (text != "" && recorded.Downscale.Call != s.Zones[0].Call) {
				t.Errorf("the plan is %v, want %q with the call %v", plan.Notation(group.Plan(s)), tc.want, s.Zones[0].Call)
			}
		})
	}
}

func TestADetectedDownscaleThatWasRevertedIsCompleted(t *testing.T) {
	s := fixture.MustParse("live\nhold downscale/zone-a\n downscale zone-a from 2 to 1 admitted version=9 since=30s\nzone-a rev=1 version=11\n zone-a-0 ready@1 zone-a-1 ready@1\n")
	s.Hold.Downscale.Generation = group.SeenInEffect
	if got, want := plan.Notation(group.Plan(s)), "end zone-a from 2 to 1 admitted because DownscaleCompleted"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want that it begins with %q", got, want)
	}
}

// The former pod of this name was deleted by the rollout, and a client may still carry
// out the granted eviction of the present one.
func TestAPodWithAGrantedEvictionIsNotDeletedForItsPredecessor(t *testing.T) {
	for sentence, recorded := range map[string]string{
		"recorded in their order":   "  intent zone-a-1 uid=former version=9\n  intent zone-a-1 version=9 granted\n",
		"recorded in another order": "  intent zone-a-1 version=9 granted\n  intent zone-a-1 uid=former version=9\n",
	} {
		s := fixture.MustParse("live\nhold rollout/zone-a\n" + recorded + "zone-a rev=2 minReady=10s\n zone-a-0 ready@2 zone-a-1 ready@1 for=9s zone-a-2 ready@2\n")
		if got := plan.Notation(group.Plan(s)); strings.Contains(got, "delete") {
			t.Errorf("%s: %s", sentence, got)
		}
	}
}

func TestADownscaleThatIsNotRequestedAnyMoreIsUndoneWithoutAFailure(t *testing.T) {
	for leader, own := range map[string]bool{"zone-a-0 ready@1": true, "zone-a-0 ready@1 zone-a-1 ready@1": false} {
		s := fixture.MustParse("live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 admitted own calls since=6s\n" +
			"zone-a rev=1\n " + leader + "\nzone-b rev=1 leader=zone-a prepares version=11\n zone-b-0 ready@1 ip=10.0.0.1 zone-b-1 ready@1 ip=10.0.0.2\n")
		steps := group.Plan(s)
		n, is := steps[0].(group.RecordDownscale)
		if !is || n.Downscale.Stage != group.Undoing || n.Downscale.Ours != own {
			t.Errorf("with %s the plan is %v, want that the downscale is undone, as lockstep's: %t", leader, steps, own)
		}
	}
}

func TestPodsCalledInVainAreNotifiedToStay(t *testing.T) {
	const scenario = "live\nhold %s\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 prepares\n zone-b-0 ready@1 ip=10.0.0.1 zone-b-1 ready@1 ip=10.0.0.2\n"
	called := group.PodCall{Downscale: fixture.Shrinking("zone-b", 2, 1, group.Preparing), UIDs: []string{"zone-b-1"}, Delivered: true}
	for sentence, tc := range map[string]struct {
		hold   string
		change func(*group.PodCall)
		want   bool
	}{
		"the record is gone":                     {"free", func(*group.PodCall) {}, true},
		"pods are being called":                  {"free", func(a *group.PodCall) { a.Underway = true }, false},
		"no pod received the call":               {"free", func(a *group.PodCall) { a.Delivered = false }, false},
		"the called pods are gone":               {"free", func(a *group.PodCall) { a.UIDs = []string{"former"} }, false},
		"another holder has the hold":            {"manual/maintenance", func(*group.PodCall) {}, false},
		"the hold of another holder has expired": {"manual/maintenance renewed 5m ago", func(*group.PodCall) {}, true},
		"the StatefulSet was recreated":          {"free", func(a *group.PodCall) { a.Downscale.UID = "former" }, true},
		"other pods were called":                 {"free", func(a *group.PodCall) { a.UIDs = []string{"zone-b-0"} }, false},
		"the called pods were notified already":  {"free", func(a *group.PodCall) { a.Downscale.Stage = group.Undoing }, false},
	} {
		s := fixture.MustParse(fmt.Sprintf(scenario, tc.hold))
		s.Called = called
		tc.change(&s.Called)
		undoes := slices.ContainsFunc(group.Plan(s), func(a plan.Action) bool {
			n, is := a.(group.RecordDownscale)
			return is && n.Downscale.Stage == group.Undoing && n.Downscale.Zone == "zone-b"
		})
		if undoes != tc.want {
			t.Errorf("%s: undone %t, want %t", sentence, undoes, tc.want)
		}
	}
}

// kubectl delete statefulset zone-b --cascade=orphan, followed by kubectl apply: the
// same pods now belong to another StatefulSet, to which the downscale does not apply.
func TestCalledPodsAreNotifiedToStayWhenTheStatefulSetIsRecreated(t *testing.T) {
	const called, silent = "zone-b-1 ready@1 ip=10.0.0.2", "zone-b-1 starting@1"
	for _, tc := range []struct{ recorded, zone, pod, want string }{
		{"preparing since=3s", "", called, ""}, // a webhook may still be calling pods
		{"preparing since=50s", "", called, "record zone-b from 2 to 1 undoing because DownscaleCancelled"},
		{"admitted calls since=6s", "", called, "record zone-b from 2 to 1 undoing because DownscaleCancelled"},
		{"undoing", "", called, "undo zone-b from 2 to 1 undoing at zone-b-1"},
		{"undoing", "replicas=2 unobserved", "", ""}, // it has not adopted its pods yet
		{"preparing since=3s", "replicas=2 unobserved", "", ""},
		{"undoing", "", silent, "end zone-b from 2 to 1 undoing because DownscaleCancelled"},
		{"preparing since=3s", "", silent, "end zone-b from 2 to 1 preparing because DownscaleCancelled"},
		{"admitted since=3s", "", called, "end zone-b from 2 to 1 admitted because DownscaleCancelled"}, // no pod was called
	} {
		s := fixture.MustParse("live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 " + tc.recorded + " uid=former\n" +
			"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 version=11 prepares " + tc.zone + "\n zone-b-0 ready@1 ip=10.0.0.1 " + tc.pod + "\n")
		steps := slices.DeleteFunc(group.Plan(s), func(a plan.Action) bool { _, waits := a.(plan.Wait); return waits })
		got, _, _ := strings.Cut(plan.Notation(steps), "\n")
		if got != tc.want {
			t.Errorf("%s, %s %s: got %q, want %q", tc.recorded, tc.zone, tc.pod, got, tc.want)
		}
	}
}

// A webhook that calls pods itself may try the same downscale again.
func TestAnEarlierCancellationDoesNotCountForTheNextDownscale(t *testing.T) {
	s := fixture.MustParse("live\nhold downscale/zone-b\n downscale zone-b from 2 to 1 undoing calls since=1s\n called zone-b-1\n" +
		"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 prepares\n zone-b-0 ready@1 ip=10.0.0.1 zone-b-1 ready@1 ip=10.0.0.2\n")
	cancels := func() bool {
		return slices.ContainsFunc(group.Plan(s), func(a plan.Action) bool { _, is := a.(group.CancelPreparation); return is })
	}
	if cancels() {
		t.Error("pods that have answered are notified again")
	}
	s.Hold.Downscale.Since = s.Now
	if !cancels() {
		t.Error("no pod is notified to stay because of an earlier attempt")
	}
}
