package record_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func TestRememberedZonesComeBackAsTheyWere(t *testing.T) {
	var most []group.Member
	for i := range group.MostMembers {
		most = append(most, group.Member{Zone: fmt.Sprintf("zone-%d", i), UID: fmt.Sprintf("uid-%d", i)})
	}
	for _, zones := range [][]group.Member{nil, most[:1], most} {
		got, err := record.ParseMembers(record.FormatMembers(zones))
		if diff := cmp.Diff(zones, got); diff != "" || err != nil {
			t.Errorf("error %v, (-want +got)\n%s", err, diff)
		}
	}
}

func TestRememberedZonesThatAreNotUnderstoodAreRefused(t *testing.T) {
	const zone = `{"zone":"zone-a","uid":"u"}`
	for sentence, tc := range map[string]struct{ text, says string }{
		"a later version":             {`{"version":2,"zones":[]}`, "version 2, this build knows version 1 only"},
		"a later version's new field": {`{"version":2,"more":true}`, "version 2, this build knows version 1 only"},
		"no JSON":                     {`zone-a`, "read zones"},
		"two texts":                   {`{"version":1,"zones":[` + zone + `]}{}`, "read zones"},
		"an unknown field":            {`{"version":1,"zones":[],"more":true}`, `unknown field "more"`},
		"an unknown field of a zone":  {`{"version":1,"zones":[{"zone":"zone-a","uid":"u","selector":"x=y"}]}`, `unknown field "selector"`},
		"more zones than are written": {`{"version":1,"zones":[` + strings.Repeat(zone+",", group.MostMembers) + zone + `]}`, "there are 101, and at most 100 are remembered"},
		"a zone without name":         {`{"version":1,"zones":[{"uid":"u"}]}`, "entry 0 needs zone and uid"},
		"a zone without UID":          {`{"version":1,"zones":[` + zone + `,{"zone":"zone-b"}]}`, "entry 1 needs zone and uid"},
	} {
		t.Run(sentence, func(t *testing.T) {
			zones, err := record.ParseMembers(tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v and error %v, want an error that says %q", zones, err, tc.says)
			}
		})
	}
}
