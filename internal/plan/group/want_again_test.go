package group_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestAGroupIsReadAgainIfAZoneWantsADeletedPodAgain(t *testing.T) {
	deleted := []plan.Intent{{Zone: "zone-a", Pod: "zone-a-2"}}
	for sentence, tc := range map[string]struct {
		listed []group.Zone
		want   bool
	}{
		"its zone has fewer replicas":      {[]group.Zone{{Name: "zone-a", Replicas: 2}}, false},
		"its zone was scaled up meanwhile": {[]group.Zone{{Name: "zone-a", Replicas: 3}}, true},
		"another zone was scaled up":       {[]group.Zone{{Name: "zone-a", Replicas: 2}, {Name: "zone-b", Replicas: 3}}, false},
		"its zone is not listed":           {nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := group.WantAgain(deleted, tc.listed); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestRecordedPodsThatAreDeletedAndUnwanted(t *testing.T) {
	const other = "zone-b rev=1\n zone-b-0 ready@1\n"
	for sentence, tc := range map[string]struct {
		group string
		want  bool
	}{
		"its zone has fewer replicas":                        {"zone-a rev=1\n zone-a-0 ready@1\n", true},
		"its zone requests it":                               {"zone-a rev=1 replicas=2\n zone-a-0 ready@1\n", false},
		"it exists":                                          {"zone-a rev=1 replicas=1\n zone-a-0 ready@1 zone-a-1 ready@1\n", false},
		"the view is older than the record":                  {"pods at 9\nzone-a rev=1\n zone-a-0 ready@1\n", false},
		"the view is as new as the record":                   {"pods at 10\nzone-a rev=1\n zone-a-0 ready@1\n", true},
		"its zone is unknown":                                {other, true},
		"its StatefulSet outside of the group requests it":   {"relabelled zone-a rev=1 replicas=2\n" + other, false},
		"its StatefulSet outside of the group has fewer":     {"relabelled zone-a rev=1\n zone-a-0 ready@1\n" + other, true},
		"its StatefulSet was deleted without its other pods": {"orphaned zone-a\n zone-a-0 ready@1\n" + other, false},
		"its StatefulSet and all of its pods are gone":       {"deleted zone-a\n" + other, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("live\nhold rollout/zone-a\n intent zone-a-1\n" + tc.group)
			if got := len(s.DeletedAndUnwanted()) > 0; got != tc.want {
				t.Errorf("deleted and unwanted: %t, want %t", got, tc.want)
			}
		})
	}
}
