package operator

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/lockstep-dev/lockstep/internal/act/podcalls"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// measured returns the series whose names have this prefix.
func measured(t *testing.T, m *telemetry.Metrics, prefix string) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler(logrus.New()).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	var all []string
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, prefix) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func TestCallsToPodsAreCountedByGroup(t *testing.T) {
	store := plan.Key{Namespace: "team", Name: "store"}
	m := telemetry.NewMetrics("test")
	c := counting{m, func(key plan.Key) bool { return key.Name == store.Name }}
	for _, key := range []plan.Key{store, {Namespace: "team", Name: "store", Kind: plan.KindStatefulSet}, {Namespace: "team", Name: "gone"}} {
		c.called(podcalls.Pod{Group: key, Namespace: "team", Name: "zone-a-0"}, podcalls.ToPrepare, podcalls.Result{Outcome: podcalls.Failed, Why: podcalls.Declined})
	}
	want := `lockstep_group_pod_calls_total{group="store",namespace="team",outcome="failed",purpose="prepare"} 1`
	if got := measured(t, m, "lockstep_group_pod_calls_total"); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %s", got, want)
	}
	if got := measured(t, m, "lockstep_pod_call_duration_seconds_count"); len(got) != 1 || !strings.HasSuffix(got[0], " 3") {
		t.Errorf("all together: %q, want 3", got)
	}
}

// An answer may come after its group was deleted. The empty name is also the name of a group.
func TestRefusalsAreCountedByGroupAsLongAsThereIsTheGroup(t *testing.T) {
	m := telemetry.NewMetrics("test")
	c := counting{m, func(key plan.Key) bool { return key.Name == "" && key.Namespace == "team" }}
	for _, key := range []plan.Key{{Namespace: "team", Name: "gone"}, {Namespace: "team"}, {}} {
		c.reviewed(admission.Observation{Webhook: "prepare-downscale", Verdict: admission.Denied, Reason: reason.PreparationFailed, Group: key})
	}
	want := `lockstep_group_refusals_total{group="",namespace="team",reason="PreparationFailed",webhook="prepare-downscale"} 1`
	if got := measured(t, m, "lockstep_group_refusals_total"); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// A dry run runs next to the leader, and must not appear as the leader.
func TestADryRunDoesNotLead(t *testing.T) {
	for _, dry := range []bool{false, true} {
		log, _ := logtest.NewNullLogger()
		o := &Operator{metrics: telemetry.NewMetrics("test"), log: log}
		o.config.DryRun = dry
		o.leading(true)
		want := map[bool]string{false: "lockstep_leader 1", true: "lockstep_leader 0"}[dry]
		if got := measured(t, o.metrics, "lockstep_leader"); len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

func TestPanicsOfEveryLoopAreCounted(t *testing.T) {
	m := telemetry.NewMetrics("test")
	observe := panics[string](m, "budget")
	observe(t.Context(), "key", loop.ResultAgain, time.Second)
	observe(t.Context(), "key", loop.ResultPanic, time.Second)
	if got := measured(t, m, "lockstep_panics_total"); len(got) != 1 || got[0] != `lockstep_panics_total{loop="budget"} 1` {
		t.Errorf("got %q", got)
	}
}

// A StatefulSet without a group, or a budget, may have the name of a group.
func TestOnlyReconcilesOfRolledGroupsAreCounted(t *testing.T) {
	o := &Operator{metrics: telemetry.NewMetrics("test")}
	for _, key := range []plan.Key{{Namespace: "team", Name: "store", Kind: plan.KindStatefulSet}, {Namespace: "team", Name: "store", Kind: plan.KindBudget}} {
		o.reconciled(t.Context(), key, loop.ResultDone, time.Second)
	}
	if left := measured(t, o.metrics, "lockstep_group_"); len(left) > 0 {
		t.Errorf("counted: %q", left)
	}
	o.reconciled(t.Context(), plan.Key{Namespace: "team", Name: "store"}, loop.ResultDone, time.Second)
	if len(measured(t, o.metrics, "lockstep_group_reconciles_total")) != 1 {
		t.Error("a reconcile of a group is not counted")
	}
}

func TestReviewsAndCallsAreMeasuredByManagedNamespace(t *testing.T) {
	m := telemetry.NewMetrics("test")
	m.NamespaceManaged("team")
	c := counting{m, func(plan.Key) bool { return false }}
	for _, namespace := range []string{"team", "other"} {
		c.reviewed(admission.Observation{Namespace: namespace, Webhook: "pod-eviction", Verdict: admission.Allowed})
		c.called(podcalls.Pod{Namespace: namespace, Name: "zone-a-0"}, podcalls.ToPrepare, podcalls.Result{Outcome: podcalls.Failed, Why: podcalls.Declined, Status: http.StatusNotFound})
	}
	for prefix, want := range map[string][]string{
		"lockstep_admission_reviews_total": {
			`lockstep_admission_reviews_total{namespace="",reason="",verdict="allowed",webhook="pod-eviction"} 1`,
			`lockstep_admission_reviews_total{namespace="team",reason="",verdict="allowed",webhook="pod-eviction"} 1`,
		},
		"lockstep_pod_call_duration_seconds_count": {
			`lockstep_pod_call_duration_seconds_count{code="4xx",namespace="",outcome="failed",purpose="prepare",why="Declined"} 1`,
			`lockstep_pod_call_duration_seconds_count{code="4xx",namespace="team",outcome="failed",purpose="prepare",why="Declined"} 1`,
		},
	} {
		if got := measured(t, m, prefix); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
