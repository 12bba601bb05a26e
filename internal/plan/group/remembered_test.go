package group_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// joins is a group of two zones, of which the hold records zone-a.
const joins = "hold free\nmembers zone-a\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n"

func TestAZoneForWhichTheHoldHasNoRoomIsNotRecorded(t *testing.T) {
	var members, zones strings.Builder
	for i := range group.MostMembers {
		fmt.Fprintf(&members, " zone-%03d", i)
		fmt.Fprintf(&zones, "zone-%03d rev=1\n zone-%03d-0 ready@1\n", i, i)
	}
	const more = "zone-more rev=1\n zone-more-0 ready@1\n"
	s := fixture.MustParse("hold free\nmembers" + members.String() + "\n" + zones.String() + more)
	if steps := group.Plan(s); len(steps) > 0 {
		t.Errorf("the plan is %q, which every later plan repeats", plan.Notation(steps))
	}
}

func TestOnlyTheHoldOfARolloutGroupRecordsZonesThatJoin(t *testing.T) {
	for sentence, tc := range map[string]struct {
		key  plan.Key
		want string
	}{
		"a rollout group":                       {plan.Key{Namespace: "team", Name: "store"}, "remember zone-b"},
		"the StatefulSets that a budget covers": {plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}, ""},
		"a StatefulSet without a group":         {plan.Key{Namespace: "team", Name: "zone-a", Kind: plan.KindStatefulSet}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(joins)
			s.Key = tc.key
			if got := plan.Notation(group.Plan(s)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAStatefulSetThatWasCreatedAgainIsRecorded(t *testing.T) {
	s := fixture.MustParse("hold free\nzone-a rev=1\n zone-a-0 ready@1\n")
	s.Hold.Members[0].UID = "former"
	if got, want := plan.Notation(group.Plan(s)), "remember zone-a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff([]group.Member{{Zone: "zone-a", UID: s.Zones[0].UID}}, group.Remembered(s)); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
}

// The hold of the group records such a zone.
func TestTheHoldOfABudgetDoesNotRememberZonesOfAGroup(t *testing.T) {
	s := fixture.MustParse(joins)
	s.Key.Kind = plan.KindBudget
	s.Zones[0].Elsewhere = true
	if diff := cmp.Diff([]group.Member{{Zone: "zone-b", UID: s.Zones[1].UID}}, group.Remembered(s)); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
}

func TestAZoneThatLeftBlocksOthersUntilItIsAvailable(t *testing.T) {
	const scenario = "relabelled zone-a rev=1\n zone-a-0 ready@1\nrelabelled zone-b rev=1\n zone-b-0 starting@1\nzone-c rev=1\n zone-c-0 ready@1\n"
	for sentence, tc := range map[string]struct{ group, zone, want string }{
		"all of its pods are available, although another zone left": {"live\n" + scenario, "zone-a", "no objection"},
		"one of its pods is not ready":                              {"live\n" + scenario, "zone-b", "ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet is no longer in the group)"},
		"it is in the group":                                        {"live\n" + scenario, "zone-c", "no objection"},
		"caches may be older than its pods":                         {scenario, "zone-a", "ZoneLeftGroup zone-a (its StatefulSet is no longer in the group)"},
		"it has a pod beyond its replicas":                          {"live\nrelabelled zone-a rev=1 replicas=1\n zone-a-0 ready@1\n zone-a-1 ready@1\n", "zone-a", "ZoneLeftGroup zone-a-1 of zone-a (its StatefulSet is no longer in the group)"},
		"the hold records a pod beyond its replicas":                {"live\nhold eviction/zone-a\n intent zone-a-1 granted unbound\nrelabelled zone-a rev=1\n zone-a-0 ready@1\n", "zone-a", "ZoneLeftGroup zone-a-1 of zone-a (its StatefulSet is no longer in the group)"},
		"its status is behind its spec":                             {"live\nrelabelled zone-a rev=1 unobserved\n zone-a-0 ready@1\n", "zone-a", "ZoneLeftGroup zone-a (its StatefulSet is no longer in the group)"},
		"orphans have the names of its pods": {
			"live\nrelabelled zone-a rev=1 replicas=2 ignored\n zone-a-0 ready@1\n orphan zone-a-1 ready@1\nzone-c rev=1\n zone-c-0 ready@1\n", "zone-a",
			"ZoneLeftGroup zone-a-1 of zone-a (the annotation lockstep.dev/ignore of its StatefulSet is true, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := group.Away(fixture.MustParse(tc.group), tc.zone).String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// If the hold has no room for all zones, it keeps the zones that it records already.
func TestARememberedZoneIsNotReplacedByAZoneThatJoins(t *testing.T) {
	var members, zones strings.Builder
	for i := range group.MostMembers {
		fmt.Fprintf(&members, " zone-%03d", i)
		fmt.Fprintf(&zones, "zone-%03d rev=1\n zone-%03d-0 ready@1\n", i, i)
	}
	s := fixture.MustParse("hold free\nmembers" + members.String() + "\nzone-0-first rev=1\n zone-0-first-0 ready@1\n" + zones.String())
	for _, m := range group.Remembered(s) {
		if m.Zone == "zone-0-first" {
			t.Error("the zone that joins is remembered instead of a remembered zone")
		}
	}
}
