package group_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func describe(text string) group.Status {
	s := fixture.MustParse(text)
	return group.Describe(s, group.Plan(s))
}

func TestAStatusCountsAsThePlannerDoes(t *testing.T) {
	got := describe(`
hold rollout/zone-a
  intent zone-a-1
zone-a rev=2 current=1 replicas=5 budget=40%
  zone-a-0 ready@2   zone-a-1 ready@1   zone-a-2 starting@1   zone-a-3 terminating@1   zone-a-5 ready@1
zone-b rev=2
  zone-b-0 ready@2
`).Zones
	want := []group.ZoneStatus{
		{Name: "zone-a", Activity: group.Rolling, Replicas: 5, Ready: 2, Updated: 1, Done: 1, Outdated: 3, Down: 4, Recorded: 1, Budget: 2, Revision: "2"},
		{Name: "zone-b", Activity: group.Settled, Replicas: 1, Ready: 1, Updated: 1, Done: 1, Budget: 1, Revision: "2"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(group.ZoneStatus{}, "UID", "Waits")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// lockstep does not remove an outside holder from the Lease when its hold has expired.
func TestAnOutsideHolderIsShownWhileItBlocksOperations(t *testing.T) {
	const available = "zone-a rev=1\n zone-a-0 ready@1\n"
	for sentence, tc := range map[string]struct {
		world string
		want  plan.Holder
	}{
		"a hold that has not expired":        {"hold manual/x renewed 5s ago\n" + available, "manual/x"},
		"an expired hold":                    {"hold manual/x renewed 5m ago\n" + available, ""},
		"an expired hold that records a pod": {"hold manual/x renewed 5m ago\n intent zone-a-0\n" + available, "manual/x"},
		"an expired hold that records a pod whose replacement is available": {"hold manual/x renewed 5m ago\n intent zone-a-0 uid=former version=5\n" + available, ""},
		"an expired hold that cannot be read":                               {"hold manual/x renewed 5m ago unreadable=damaged\n" + available, "manual/x"},
		"an expired hold of lockstep":                                       {"hold rollout/zone-a renewed 5m ago\n" + available, "rollout/zone-a"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(tc.world)
			s.Hold.Since = s.Now.Add(-time.Hour)
			got := group.Describe(s, group.Plan(s))
			if got.Holder != tc.want || got.Holder.Free() != got.Since.IsZero() {
				t.Errorf("%q since %v holds, want %q", got.Holder, got.Since, tc.want)
			}
		})
	}
}

func TestActivityAndFirstWaitOfAGroup(t *testing.T) {
	for sentence, tc := range map[string]struct {
		world    string
		activity group.Activity
		zones    []group.Activity
		first    string
		stalled  reason.Code
	}{
		"a settled group": {
			"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			group.Settled, []group.Activity{group.Settled, group.Settled}, "", "",
		},
		"a rollout waits for its pod, others for their turn": {
			"hold rollout/zone-b\nzone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=2 current=1\n zone-b-0 starting@2 zone-b-1 ready@1\n",
			group.Rolling, []group.Activity{group.Blocked, group.Rolling}, "zone-b PodStarting zone-b-0 (1 of at most 1 down)", "",
		},
		"a zone recovers": {
			"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 starting@1\n",
			group.Recovering, []group.Activity{group.Settled, group.Recovering}, "zone-b PodStarting zone-b-0", "",
		},
		"one zone is paused": {
			"zone-a rev=2 current=1 paused\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			group.Blocked, []group.Activity{group.Blocked, group.Settled}, "zone-a Paused", "",
		},
		"a zone waits for a pod of another one, which is paused": {
			"zone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=2 current=1 paused\n zone-b-0 ready@1 zone-b-1 starting@2\n",
			group.Recovering, []group.Activity{group.Blocked, group.Recovering}, "zone-a OtherZoneUnavailable zone-b-1 of zone-b (PodStarting)", "",
		},
		"one zone is paused, and another client has the hold": {
			"hold manual/maintenance\nzone-a rev=2 current=1 paused\n zone-a-0 ready@1\nzone-b rev=2 current=1\n zone-b-0 ready@1\n",
			group.Held, []group.Activity{group.Blocked, group.Blocked}, "zone-b GroupHeld (held from outside lockstep)", "",
		},
		"another client has the hold": {
			"hold manual/maintenance\nzone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			group.Held, []group.Activity{group.Blocked, group.Settled}, "zone-a GroupHeld (held from outside lockstep)", "",
		},
		"the hold of another client has expired": {
			"hold manual/maintenance renewed 5m ago\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			group.Settled, []group.Activity{group.Settled, group.Settled}, "", "",
		},
		"a strategy is wrong": {
			"zone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=1 strategy=RollingUpdate\n zone-b-0 ready@1\n",
			group.Blocked, []group.Activity{group.Blocked, group.Settled}, "zone-a WrongUpdateStrategy zone-b", reason.WrongUpdateStrategy,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := describe(tc.world)
			var zones []group.Activity
			for _, z := range got.Zones {
				zones = append(zones, z.Activity)
			}
			if diff := cmp.Diff(tc.zones, zones); diff != "" || got.Activity != tc.activity {
				t.Errorf("it is %s, its zones (-want +got):\n%s", got.Activity, diff)
			}
			first := ""
			if len(got.Waits) > 0 {
				first = got.Waits[0].Zone + " " + got.Waits[0].Because.String()
			}
			stalled, _ := got.Stalled()
			if first != tc.first || stalled.Because.Code != tc.stalled {
				t.Errorf("first it waits for %q, stalled is %q; want %q and %q", first, stalled.Because.Code, tc.first, tc.stalled)
			}
		})
	}
}
