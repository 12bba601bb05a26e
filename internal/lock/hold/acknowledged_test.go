package hold_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const left = "zone-a rev=2 mirror=web scale=0 delay=1h\n zone-a-0 ready@2 ip=10.0.0.1\n notified leave zone-a-0 ago=1s\n"

// lockstep records which pods acknowledged without a live read. It does not take the hold for that, and does
// not prolong a hold from outside.
func TestAcknowledgementsDoNotChangeTheHold(t *testing.T) {
	for sentence, tc := range map[string]struct {
		group, want string
		prolongs    bool
	}{
		"a free hold":                      {"hold free renewed 5h ago\n", "write free", true},
		"no Lease":                         {"", "read live", false},
		"no Lease, after a live read":      {"live\n", "write free", true},
		"the hold of another zone":         {"hold rollout/zone-b renewed 5s ago inherited\nzone-b rev=2\n zone-b-0 starting@2\n", "write rollout/zone-b", true},
		"a hold from outside":              {"hold manual/x renewed 5s ago\n", "write manual/x", false},
		"an expired hold from outside":     {"hold manual/x renewed 5h ago\n", "write manual/x", false},
		"a hold that cannot be read":       {"hold free unreadable=damaged\n", "as it is", false},
		"an intent that waits for its end": {"hold rollout/zone-b\n intent zone-b-0 version=20\nzone-b rev=2\n zone-b-0 ready@2\n", "write rollout/zone-b with zone-b-0", true},
	} {
		s := fixture.MustParse(tc.group + left)
		d := hold.Decide(&s, group.Plan(s))
		if got := fixture.Decision(d); got != tc.want {
			t.Errorf("%s: %s, want %s", sentence, got, tc.want)
		}
		if d.Need != hold.Write {
			continue
		}
		want := []group.OrdinalRange{group.OrdinalRangeOf("zone-a-0", 0, s.Now.Add(-time.Second))}
		if diff := cmp.Diff(want, group.HoldOf(d.Record).Acknowledged["zone-a"].OrdinalRanges); diff != "" || d.Record.Own != s.Hold.Own || d.Record.Transitions != 0 {
			t.Errorf("%s: %+v\n(-want +got)\n%s", sentence, d.Record, diff)
		}
		if prolongs := d.Record.Renewed.Equal(s.Now); prolongs != tc.prolongs {
			t.Errorf("%s: prolonged %t, want %t", sentence, prolongs, tc.prolongs)
		}
	}
}

func TestAcknowledgementsAreWrittenWithTheNextRecord(t *testing.T) {
	for sentence, scenario := range map[string]string{
		"a disruption":            "live\nhold free\n" + left + outdated2,
		"the release of the hold": "hold rollout/zone-b\n" + left + "zone-b rev=2\n zone-b-0 ready@2\n",
		"a renewal":               "hold rollout/zone-b renewed 30s ago\n" + left + "zone-b rev=2\n zone-b-0 starting@2\n",
	} {
		s := fixture.MustParse(scenario)
		if d := hold.Decide(&s, group.Plan(s)); d.Need != hold.Write || len(group.HoldOf(d.Record).Acknowledged["zone-a"].OrdinalRanges) != 1 {
			t.Errorf("%s: %s records %v", sentence, fixture.Decision(d), group.HoldOf(d.Record).Acknowledged)
		}
	}
}

const outdated2 = "zone-b rev=2 current=1\n zone-b-0 ready@1\n"
