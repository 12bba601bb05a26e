package group_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// The hold records a hundred zones. One of them left the group and is unavailable. Another zone joins,
// whose name must not give it precedence over the zone that left.
func TestAZoneThatLeftIsNotForgottenForAZoneThatJoins(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	s := group.Snapshot{Key: plan.Key{Namespace: "team", Name: "store"}, Now: now, Live: true, Hold: group.Hold{Hold: plan.Hold{Exists: true, UID: "l", Version: 1}}}
	for i := range group.MostMembers {
		name := fmt.Sprintf("zone-%03d", i)
		s.Hold.Members = append(s.Hold.Members, group.Member{Zone: name, UID: name})
		if i < group.MostMembers-1 {
			s.Zones = append(s.Zones, group.Zone{Name: name, UID: name, Selector: "zone=" + name})
		}
	}
	away := fmt.Sprintf("zone-%03d", group.MostMembers-1)
	s.FormerZones = []group.FormerZone{{Zone: group.Zone{Name: away, UID: away, Pods: []plan.Pod{{Name: away + "-0"}}}, Orphaned: true}}
	s.Zones = append(s.Zones, group.Zone{Name: "zone-new", UID: "zone-new", Selector: "zone=new"})
	s.Zones[len(s.Zones)-1].Name = "zone-000a"
	if !slices.ContainsFunc(group.Remembered(s), func(m group.Member) bool { return m.Zone == away }) {
		t.Errorf("%s, whose orphaned pod is down, is remembered no more", away)
	}
}

// A zone that left its group is Ready and becomes available by time alone. The plan must say when, so
// that the group does not continue later than necessary.
func TestAZoneThatIsAwayAndBecomesAvailableByTime(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	s := group.Snapshot{Key: plan.Key{Namespace: "team", Name: "store"}, Now: now, Hold: group.Hold{
		Hold: plan.Hold{
			Exists:  true,
			UID:     "l",
			Version: 1,
		},
		Part: group.Part{
			Members: []group.Member{{Zone: "zone-a", UID: "a"}, {Zone: "zone-b", UID: "b"}},
		},
	}}
	pod := func(zone, revision string) plan.Pod {
		return plan.Pod{Name: zone + "-0", UID: zone + "-0", Version: 1, Revision: revision, Phase: plan.Ready, ReadySince: now.Add(-time.Second)}
	}
	s.Zones = []group.Zone{{Name: "zone-b", UID: "b", Version: 1, Selector: "zone=b", Replicas: 1, UpdateRevision: "2", CurrentRevision: "1", Observed: true, OnDelete: true, Pods: []plan.Pod{pod("zone-b", "1")}}}
	s.FormerZones = []group.FormerZone{{Exists: true, Zone: group.Zone{Name: "zone-a", UID: "a", Version: 1, Selector: "zone=a", Replicas: 1, UpdateRevision: "1", CurrentRevision: "1", Observed: true, OnDelete: true,
		MinReady: 5 * time.Second, Pods: []plan.Pod{pod("zone-a", "1")}}}}
	if wake := plan.Wake(group.Plan(s)); !wake.Equal(now.Add(4 * time.Second)) {
		t.Errorf("the plan is %q and wakes at %s, want 12:00:04", plan.Notation(group.Plan(s)), wake)
	}
}

// zone-a requires an hour between downscales and was scaled down a minute ago. While zone-a is without
// its label, the longer of the two minimum times must still apply to zone-b, which requires no time.
func TestTheLongerTimeBetweenDownscalesOfAZoneThatIsAway(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	pod := func(name string) plan.Pod {
		return plan.Pod{Name: name, UID: name, Version: 1, Revision: "1", Phase: plan.Ready, ReadySince: now.Add(-time.Hour)}
	}
	zone := func(name string) group.Zone {
		return group.Zone{Name: name, UID: name, Version: 1, Selector: "zone=" + name, Replicas: 2, UpdateRevision: "1", CurrentRevision: "1", Observed: true, OnDelete: true,
			Pods: []plan.Pod{pod(name + "-0"), pod(name + "-1")}}
	}
	s := group.Snapshot{Key: plan.Key{Namespace: "team", Name: "store"}, Now: now, Live: true, ZonesAt: 9, PodsAt: 9, Hold: group.Hold{
		Hold: plan.Hold{
			Exists:  true,
			UID:     "l",
			Version: 1,
		},
		Part: group.Part{
			Downscaled: map[string]time.Time{"zone-a": now.Add(-time.Minute)},
			Members:    []group.Member{{Zone: "zone-a", UID: "zone-a"}, {Zone: "zone-b", UID: "zone-b"}},
		},
	}}
	a := zone("zone-a")
	a.MinBetween = group.Span{Duration: time.Hour}
	ask := group.DownscaleRequest{Zone: "zone-b", UID: "zone-b", Version: 1, From: 2, To: 1}
	s.Zones = []group.Zone{a, zone("zone-b")}
	if v := group.Admit(s, ask); v.Allowed() {
		t.Fatal("zone-b may be scaled down while zone-a is in the group")
	}
	s.Zones, s.FormerZones = s.Zones[1:], []group.FormerZone{{Zone: a, Exists: true}}
	if v := group.Admit(s, ask); v.Allowed() {
		t.Error("zone-b may be scaled down a minute after zone-a, which requires an hour and has left its group for a moment")
	}
}
