package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

func TestSnapshotInJSONGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		text, err := encoded(formJSON, recordView{Snapshot: s})
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseSnapshot([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if want, got := fixture.Outcome(s), fixture.Outcome(again); !slices.Equal(want, got) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	})
}

// secrets are names in drawn snapshots that an anonymized snapshot must not contain.
var secrets = strings.NewReplacer("zone-[a-z]", "ingester-zone-[a-z]", "zone-a", "ingester-zone-a", "zone-b", "ingester-zone-b", "zone-c", "ingester-zone-c",
	"team", "mimir-prod", "store", "ingester", "10.0.0.1", "10.1.2.3", "web", "ReplicaOf")

func TestAnonymizedSnapshotGivesTheSamePlanWithoutNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var named group.Snapshot
		if err := json.Unmarshal([]byte(secrets.Replace(string(text))), &named); err != nil {
			t.Fatal(err)
		}
		for i := range named.Zones { // calls to pods are left out
			named.Zones[i].Notifications = nil
		}
		named.Called = group.PodCall{}
		anonymized := anonymize(named)
		leftOut := named.Hold.Acknowledged != nil || !named.Hold.Downscale.None() || unknownPartitions(named)
		if want, got := causes(named), causes(anonymized); !slices.Equal(want, got) && !leftOut {
			t.Fatalf("got  %q\nwant %q\n%s", got, want, fixture.PrintSnapshot(named))
		}
		printed := fmt.Sprintf("%+v\n%s\n%s", anonymized, fixture.PrintSnapshot(anonymized), strings.Join(fixture.Outcome(anonymized), "\n"))
		for _, secret := range []string{"ingester", "mimir", "10.1.2.3", "ReplicaOf", "CrashLoop"} {
			if strings.Contains(printed, secret) {
				t.Fatalf("%q is printed:\n%s", secret, printed)
			}
		}
	})
}

// unknownPartitions reports whether a budget finds no partition in a pod's name. Hashed names do not
// show that.
func unknownPartitions(s group.Snapshot) bool {
	for _, b := range s.Budgets {
		for _, z := range s.Zones {
			for _, p := range z.Pods {
				if _, known := b.PartitionOf(p.Name); b.ByPartition() && !known {
					return true
				}
			}
		}
	}
	return false
}
