package hold_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// renewed is a group whose record must be written, without zone-a.
const renewed = "hold rollout/zone-b renewed 30s ago\n%szone-b rev=2 current=1\n zone-b-0 starting@2\n"

// After kubectl delete statefulset zone-a --cascade=orphan and kubectl apply, the former annotations of
// zone-a are lost. Only the Lease records when it was scaled down.
func TestTheTimeOfADownscaleOutlivesItsStatefulSet(t *testing.T) {
	for ago, kept := range map[string]bool{"1h": true, "167h": true, "168h": false, "-167h": true, "-168h": false} {
		s := fixture.MustParse(fmt.Sprintf(renewed, " downscaled zone-a "+ago+" ago\n"))
		decision := hold.Decide(&s, group.Plan(s))
		want := s.Hold.Downscaled
		if !kept {
			want = nil
		}
		if diff := cmp.Diff(want, group.HoldOf(decision.Record).Downscaled); diff != "" || decision.Need != hold.Write {
			t.Errorf("downscaled %s ago: verdict %d (-want +got)\n%s", ago, decision.Need, diff)
		}
	}
}

// A new Lease starts with the times that the predecessor tracked in all of the namespace.
func TestALeaseBeginsWithTheTimesOfItsOwnZones(t *testing.T) {
	s := fixture.MustParse("live\nhold free\n downscaled zone-a 1h ago\n downscaled store-a 1h ago\n" + outdated)
	s.Hold.Exists = false
	want := map[string]time.Time{"zone-a": fixture.Now().Add(-time.Hour)}
	if diff := cmp.Diff(want, group.HoldOf(hold.Decide(&s, group.Plan(s)).Record).Downscaled); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTheTimesOfZonesThatAreGoneAreBounded(t *testing.T) {
	var all strings.Builder
	for hours := range 100 {
		fmt.Fprintf(&all, " downscaled zone-%d %dh ago\n", hours, hours)
	}
	s := fixture.MustParse(fmt.Sprintf(renewed, all.String()))
	got := group.HoldOf(hold.Decide(&s, group.Plan(s)).Record).Downscaled
	if _, last := got["zone-19"]; len(got) != 20 || !last {
		t.Errorf("%d are kept, zone-19 among them: %t; want the latest 20", len(got), last)
	}
}

// The holder and everything else in the record stay the same.
func TestADownscaleThatNeedsNoHoldIsDated(t *testing.T) {
	s := fixture.MustParse("live\nhold rollout/zone-b\n intent zone-b-0\n downscaled zone-c 1h ago\nzone-a rev=1\nzone-b rev=1\n zone-b-0 ready@1\n")
	for _, holder := range []plan.Holder{s.Hold.Holder, ""} {
		s.Hold.Holder = holder
		checkDated(t, s)
	}
}

func checkDated(t *testing.T, s group.Snapshot) {
	t.Helper()
	want := s.Hold
	want.Downscaled = map[string]time.Time{"zone-a": s.Now.Add(plan.RequestLimit), "zone-c": s.Now.Add(-time.Hour)}
	if diff := cmp.Diff(want.Record(), hold.Admit(&s, group.DownscaleAnswer{Dated: true}.Admission(&s, "zone-a"))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
