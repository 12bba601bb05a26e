package report_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Actions that failed count nothing.
func TestWhatIsDoneToAStatefulClusterIsCounted(t *testing.T) {
	r := newRoom()
	s := &pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, Now: time.Unix(1_800_000_000, 0),
		Object: pool.Object{UID: "u", Replicas: 2}, Claims: []pool.Claim{{ID: "a", Pool: "u", Retired: true}},
	}
	done := func(steps ...plan.Action) (receipts []plan.Receipt) {
		for _, step := range steps {
			receipts = append(receipts, plan.Receipt{Step: step})
		}
		return receipts
	}
	r.Pool(s, []plan.Action{plan.Wait{Zone: "db", Because: plan.Refusal{Code: reason.PodMissing}}}, append(done(
		pool.CreatePods{Pool: "db", IDs: []pool.ID{"b", "c"}},
		pool.HandOver{Pool: "db", ID: "d"},
		pool.UpdateInPlace{Of: plan.Disruption{Zone: "db", Pod: "db-e"}},
		plan.DeletePod{Zone: "db", Pod: "db-f", Because: reason.ScaledDown},
		pool.RetireIdentity{Pool: "db", ID: "a", Because: reason.NodeGone},
		pool.DeleteClaims{Pool: "db", ID: "g", Claims: make([]pool.Claim, 3)},
	), plan.Receipt{Step: pool.HandOver{Pool: "db", ID: "h"}, Err: errors.New("refused")}))
	shown := r.series(t)
	for _, want := range []string{
		`births_total{name="db",namespace="team"} 2`, `handovers_total{name="db",namespace="team"} 1`, `inplace_updates_total{name="db",namespace="team"} 1`,
		`pods_deleted_total{name="db",namespace="team",reason="ScaledDown"} 1`, `retirements_total{name="db",namespace="team",reason="NodeGone"} 1`,
		`claims_deleted_total{name="db",namespace="team"} 3`, `retired_claims{name="db",namespace="team"} 1`, `waiting{name="db",namespace="team",reason="PodMissing"} 1`,
		`desired{name="db",namespace="team"} 2`, `unavailable{name="db",namespace="team"} 2`,
	} {
		if !slices.ContainsFunc(shown, func(line string) bool { return strings.HasSuffix(line, "lockstep_statefulcluster_"+want) }) {
			t.Errorf("%s is not among %v", want, shown)
		}
	}
	r.Forget(s.Key)
	if left := slices.DeleteFunc(r.series(t), func(line string) bool { return !strings.Contains(line, `name="db"`) }); len(left) > 0 {
		t.Errorf("series of a forgotten StatefulCluster: %v", left)
	}
}
