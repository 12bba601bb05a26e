package record_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
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

// A StatefulSet without a group and a budget record the same as a group.
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

func TestTheLeaseOfAStatefulClusterKeepsItsReplicas(t *testing.T) {
	for _, part := range []pool.Part{{}, {Recorded: true}, {Replicas: 1, Recorded: true}, {Replicas: 1000, Recorded: true}} {
		annotations := record.Encode(plan.KindStatefulCluster, plan.Record{Part: part})
		if got := record.Decode(plan.KindStatefulCluster, annotations); got.Part != part || got.Unreadable != "" {
			t.Errorf("%+v: got %+v", part, got)
		}
	}
	for _, wrong := range []string{"-1", "many", "99999999999999999999"} {
		got := record.Decode(plan.KindStatefulCluster, map[string]string{contract.ReplicasAnnotation: wrong})
		if got.Part != (pool.Part{}) || got.Unreadable != "" {
			t.Errorf("%q: got %+v", wrong, got)
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

// FuzzReplicas checks that a number that can be read is one that an object can ask for and is written again as the same one, and that
// another text counts as none. Any client that may write Leases in a namespace can write any text there.
func FuzzReplicas(f *testing.F) {
	for _, text := range []string{"", "0", "3", "-1", "+7", "03", "2147483647", "2147483648", "3 ", "٣"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read := pool.PartOf(record.Decode(plan.KindStatefulCluster, map[string]string{contract.ReplicasAnnotation: text}).Part)
		if read.Replicas < 0 || read.Replicas > math.MaxInt32 || !read.Recorded && read.Replicas != 0 {
			t.Errorf("%q is read as %+v", text, read)
		}
		written := record.Encode(plan.KindStatefulCluster, plan.Record{Part: read})
		if again := pool.PartOf(record.Decode(plan.KindStatefulCluster, written).Part); again != read {
			t.Errorf("%q is read as %+v, and then as %+v", text, read, again)
		}
	})
}
