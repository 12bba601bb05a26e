package record_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// A Lease may be of a kind that this version of lockstep does not know. Its part stays as it is.
func TestAKindWithoutACodecRecordsWhatAllKindsShare(t *testing.T) {
	r := plan.Record{
		Hold: plan.Hold{Intents: []plan.Intent{fixture.IntentOf("zone-a-0")}},
		Part: group.Part{Members: []group.Member{{Zone: "zone-a", UID: "u"}}},
	}
	annotations := record.Encode("pool", r)
	if _, written := annotations[contract.ZonesAnnotation]; written || annotations[contract.IntentsAnnotation] == "" {
		t.Errorf("got %v", annotations)
	}
	annotations["lockstep.dev/pool-part"] = "{"
	if got := record.Decode("pool", annotations); got.Unreadable != "" || got.Part != nil || len(got.Intents) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestAnOldRecordHasItsDownscaleAmongTheIntents(t *testing.T) {
	got := record.Decode(plan.KindGroup, map[string]string{
		contract.IntentsAnnotation: `{"version":1,"decrease":{"zone":"zone-a","uid":"u","resourceVersion":"7","from":3,"to":2,"stage":"admitted","since":"2026-01-05T12:00:00Z"}}`,
	})
	if d := group.HoldOf(got).Downscale; got.Unreadable != "" || d.Zone != "zone-a" || got.InProgress() != "downscale/zone-a" {
		t.Errorf("got %+v", got)
	}
}

// A StatefulSet without a group and a budget record the same as a group. A StatefulCluster records nothing of its own.
func TestEveryKindOfLeaseKeepsItsPart(t *testing.T) {
	want := group.Part{
		Members:   []group.Member{{Zone: "zone-a", UID: "u"}},
		Downscale: fixture.Shrinking("zone-a", 3, 2, group.Admitted),
	}
	for _, kind := range []plan.Kind{plan.KindGroup, plan.KindStatefulSet, plan.KindBudget} {
		got := record.Decode(kind, record.Encode(kind, plan.Record{Part: want}))
		if diff := cmp.Diff(want, group.HoldOf(got).Part, cmpopts.EquateApproxTime(time.Millisecond)); diff != "" || got.Unreadable != "" {
			t.Errorf("%s: %s (-want +got)\n%s", kind.Word(), got.Unreadable, diff)
		}
	}
}

func TestAPartThatCannotBeReadIsNotOverwritten(t *testing.T) {
	annotations := record.Encode(plan.KindGroup, plan.Record{Hold: plan.Hold{Intents: []plan.Intent{fixture.IntentOf("zone-a-0")}}})
	annotations[contract.ZonesAnnotation] = "{"
	if got := record.Decode(plan.KindGroup, annotations); got.Unreadable == "" || len(got.Intents) != 1 {
		t.Errorf("got %+v", got)
	}
}
