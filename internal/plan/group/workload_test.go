package group_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestHowFarTheRolloutOfAZoneIs(t *testing.T) {
	for sentence, tc := range map[string]struct {
		zone      string
		done      bool // the zone
		rolledOut bool // the group
	}{
		"all pods are at the update revision": {"zone-a rev=2\n zone-a-0 ready@2 zone-a-1 ready@2\n", true, true},
		"one is outdated":                     {"zone-a rev=2\n zone-a-0 ready@2 zone-a-1 ready@1\n", false, false},
		"one starts":                          {"zone-a rev=2\n zone-a-0 ready@2 zone-a-1 starting@2\n", false, true},
		"the status is behind the spec":       {"zone-a rev=2 unobserved\n zone-a-0 ready@2\n", false, true},
		"another controller rolls the zone":   {"zone-a rev=2 strategy=RollingUpdate\n zone-a-0 ready@1\n", false, true},
		"the zone is deleted":                 {"zone-a rev=2 deleting\n zone-a-0 ready@1\n", false, true},
	} {
		s := fixture.MustParse(tc.zone)
		if got := s.Rollout("zone-a").Done; got != tc.done {
			t.Errorf("%s: the zone is done %t, want %t", sentence, got, tc.done)
		}
		if got := s.RolledOut(); got != tc.rolledOut {
			t.Errorf("%s: the group is rolled out %t, want %t", sentence, got, tc.rolledOut)
		}
	}
}

func TestAGroupIsSharedWhileAZoneThatLeftMayBelongToAnother(t *testing.T) {
	for zone, want := range map[string]bool{
		"zone-a rev=1\n zone-a-0 ready@1\n":            false,
		"relabelled zone-a rev=1\n zone-a-0 ready@1\n": true,
		"orphaned zone-a\n zone-a-0 ready@1\n":         true,
	} {
		s := fixture.MustParse(zone)
		if got := s.View().Shared; got != want {
			t.Errorf("%q: shared %t, want %t", zone, got, want)
		}
	}
}

func TestZonesThatLeftAreShownOutsideOfTheGroup(t *testing.T) {
	s := fixture.MustParse("relabelled zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n")
	shown := s.Shown()
	if _, inside := shown.Object("zone-a"); inside {
		t.Error("zone-a is shown as a zone of the group")
	}
	if _, inside := shown.Object("zone-b"); !inside {
		t.Error("zone-b is not shown")
	}
	if _, known := shown.Pod("zone-a-0"); !known {
		t.Error("the pod of zone-a is not shown")
	}
}

func TestTheNextPartRemembersZonesThatLeft(t *testing.T) {
	s := fixture.MustParse("hold free\nrelabelled zone-a rev=1\n zone-a-0 starting@1\nzone-b rev=1\n zone-b-0 ready@1\nzone-c rev=1\n zone-c-0 ready@1\n")
	s.Hold.Members = slices.DeleteFunc(s.Hold.Members, func(m group.Member) bool { return m.Zone == "zone-c" })
	next := group.HoldOf(plan.Record{Part: s.NextPart(s.Hold.Part, nil)})
	var names []string
	for _, m := range next.Members {
		names = append(names, m.Zone)
	}
	if diff := cmp.Diff([]string{"zone-a", "zone-b", "zone-c"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Snapshots share the maps of a record.
func TestNextPartsDoNotChangeTheRecord(t *testing.T) {
	s := fixture.MustParse("live\nhold free\n downscaled zone-a 1h ago\nzone-a rev=1\n zone-a-0 ready@1\n")
	before := maps.Clone(s.Hold.Downscaled)
	group.DownscaleAnswer{Dated: true}.Admission(&s, "zone-a")
	former := fixture.Shrinking("zone-a", 3, 2, group.Admitted)
	former.Generation, former.Since = group.SeenInEffect, s.Now
	s.Hold.Downscale = former
	s.Hold.UndoAgain(fixture.Shrinking("zone-a", 2, 1, group.Preparing), s.Now.Add(time.Minute))
	s.NextPart(group.Part{}, nil)
	if diff := cmp.Diff(before, s.Hold.Downscaled); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

func TestAnyChangeOfReplicasDecidesWhichPodsLeave(t *testing.T) {
	for _, to := range []int{1, 5} {
		if e := (group.SetReplicas{Zone: "zone-a", From: 3, To: to}).Effect(); !e.Resizes || e.EndsBeforeExpiry != (to < 3) {
			t.Errorf("from 3 to %d: %+v", to, e)
		}
	}
}
