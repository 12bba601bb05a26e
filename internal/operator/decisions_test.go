package operator

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/control/budget"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

func TestBudgetStatusShowsADecisionWithItsTrace(t *testing.T) {
	seen := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{10}, SpanID: trace.SpanID{1}})
	refusal := admission.Deny(http.StatusTooManyRequests, reason.GroupHeld, "not now")
	for sentence, tc := range map[string]struct {
		span    trace.SpanContext
		verdict admission.Verdict
		want    budget.Decision
	}{
		"a refusal under a span": {
			seen, refusal,
			budget.Decision{Pod: "zone-a-0", Reason: "GroupHeld", Message: "not now", TraceID: "0a000000000000000000000000000000"},
		},
		"a refusal without one": {trace.SpanContext{}, refusal, budget.Decision{Pod: "zone-a-0", Reason: "GroupHeld", Message: "not now"}},
		"a grant": {
			trace.SpanContext{}, admission.Allow(reason.EvictionGranted),
			budget.Decision{Pod: "zone-a-0", Allowed: true, Reason: "EvictionGranted"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := decisionOf(trace.ContextWithSpanContext(t.Context(), tc.span), "zone-a-0", tc.verdict, time.Now())
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(budget.Decision{}, "Time")); diff != "" || got.Time.IsZero() {
				t.Errorf("at %s (-want +got):\n%s", got.Time, diff)
			}
		})
	}
}
