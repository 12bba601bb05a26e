package operator

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/serve/server"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// backInTime is an API server that returns a Lease at an older version each time.
type backInTime struct{ version string }

// RoundTrip implements http.RoundTripper.
func (b *backInTime) RoundTrip(*http.Request) (*http.Response, error) {
	l := &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}}
	l.Namespace, l.Name, l.ResourceVersion = "team", hold.LeaseName(plan.Key{Name: "store"}), b.version
	return apitest.Answer(http.StatusOK, l), nil
}

func TestAProcessThatNoticesARestoreEndsAndSaysWhy(t *testing.T) {
	cluster := &backInTime{"700"}
	log, said := logtest.NewNullLogger()
	metrics := telemetry.NewMetrics("test")
	o := &Operator{log: log, metrics: metrics, holds: lease.NewStore(apitest.Client(t, cluster), "", "test")}
	if status, text := probe(t, server.Check{Name: "history", Probe: o.clusterContinues}); status != http.StatusOK || text != "history: ok\n" {
		t.Errorf("before, /ready says %d %q", status, text)
	}
	for _, version := range []string{"700", "300"} {
		cluster.version = version
		_, _ = o.holds.Read(t.Context(), plan.Key{Namespace: "team", Name: "store"})
	}
	working, end := context.WithCancelCause(t.Context())
	defer end(nil)
	o.endOnRestore(t.Context(), end)
	if _, is := errors.AsType[*lease.RestoredError](context.Cause(working)); !is {
		t.Errorf("work ends because of %v", context.Cause(working))
	}
	if status, text := probe(t, server.Check{Name: "history", Probe: o.clusterContinues}); status != http.StatusInternalServerError || !strings.Contains(text, "etcd was restored") {
		t.Errorf("/ready says %d %q", status, text)
	}
	if got := measured(t, metrics, `lockstep_restores_seen_total{of="cluster"}`); len(got) != 1 || !strings.HasSuffix(got[0], " 1") {
		t.Errorf("measured %v", got)
	}
	if len(said.Entries) != 1 || !strings.Contains(said.LastEntry().Message, "ends soon") {
		t.Errorf("logged %v", said.Entries)
	}
}

func TestARestoreIsShownForAWhileUnlessTheProcessMustEnd(t *testing.T) {
	for sentence, tc := range map[string]struct {
		restored error
		notified time.Duration
		want     time.Duration
	}{
		"a restore":                        {&lease.RestoredError{}, time.Hour, 35 * time.Second},
		"a restore, and the pod is to end": {&lease.RestoredError{}, time.Second, time.Second},
		"no restore":                       {nil, time.Hour, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &Operator{}
				if tc.restored != nil {
					o.restored.Store(&tc.restored)
				}
				ctx, stop := context.WithTimeout(t.Context(), tc.notified)
				defer stop()
				began := time.Now()
				o.showRestore(ctx)
				if took := time.Since(began); took != tc.want {
					t.Errorf("took %s, want %s", took, tc.want)
				}
			})
		})
	}
}
