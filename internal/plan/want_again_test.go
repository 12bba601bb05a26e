package plan_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestAGroupIsReadAnewWhenAZoneAsksAgainForADeletedPod(t *testing.T) {
	deleted := []plan.Intent{{Zone: "zone-a", Pod: "zone-a-2"}}
	for sentence, tc := range map[string]struct {
		listed []plan.Zone
		want   bool
	}{
		"its zone has fewer replicas":   {[]plan.Zone{{Name: "zone-a", Replicas: 2}}, false},
		"its zone was raised meanwhile": {[]plan.Zone{{Name: "zone-a", Replicas: 3}}, true},
		"another zone was raised":       {[]plan.Zone{{Name: "zone-a", Replicas: 2}, {Name: "zone-b", Replicas: 3}}, false},
		"its zone is not listed":        {nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := plan.WantAgain(deleted, tc.listed); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
