package operator

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	logtest "github.com/sirupsen/logrus/hooks/test"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// accepting is an API server that accepts every Lease.
type accepting struct{}

// RoundTrip implements http.RoundTripper.
func (accepting) RoundTrip(*http.Request) (*http.Response, error) {
	l := &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}}
	l.Namespace, l.Name, l.ResourceVersion, l.UID = "team", hold.LeaseName(plan.Key{Name: "store"}), "700", "lease"
	l.Labels, l.Spec.HolderIdentity = map[string]string{contract.HoldLabel: "group"}, new("eviction/zone-a")
	return apitest.Answer(http.StatusCreated, l), nil
}

// A record is this process's own if caches suffice for it, because this process knows what its live read has shown.
func TestARecordIsNotThisProcesssOwnOnceItHasForgottenTheLiveRead(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store"}
	for sentence, forgets := range map[string]func(*Operator){
		"a replica that does not lead": func(o *Operator) { o.forgetUnled(key) },
		"the namespace opted out":      func(o *Operator) { o.fresh.ForgetBut("team", nil) },
	} {
		t.Run(sentence, func(t *testing.T) {
			log, _ := logtest.NewNullLogger()
			holds := lease.NewStore(apitest.Client(t, accepting{}), "", "test")
			o := &Operator{log: log, metrics: telemetry.NewMetrics("test"), fresh: freshness.NewLog(holds), holds: holds}
			live := group.Snapshot{Key: key, Live: true, PodsAt: 100}
			o.fresh.ReadLive(&live)
			record := plan.Record{Hold: plan.Hold{Own: true, Holder: "eviction/zone-a", Renewed: time.Now(), Duration: hold.Duration}}
			if err := o.holds.Write(t.Context(), key, record); err != nil {
				t.Fatal(err)
			}
			if !o.holds.Cached(key).Own {
				t.Fatal("the record is not this process's own")
			}
			forgets(o)
			missing, _ := o.fresh.Behind(&group.Snapshot{Key: key})
			if diff := cmp.Diff([]any{"", false}, []any{missing, o.holds.Cached(key).Own}); diff != "" {
				t.Errorf("missing, own (-want +got):\n%s", diff)
			}
		})
	}
}
