package spans

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// longestDecision is the maximum length of a plan in a span.
const longestDecision = 1000

// Describe adds the decision and its reason to the span of a reconcile, and a link to the trace
// of the current rollout.
func Describe(ctx context.Context, w plan.Workload, steps []plan.Action) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	held := w.Record().Hold
	about := []attribute.KeyValue{
		attribute.String("lockstep.decision", plan.InOneLine(steps, longestDecision)), attribute.String("lockstep.holder", held.Holder.Plain()),
	}
	if len(steps) > 0 {
		about = append(about, attribute.String("lockstep.reason", string(steps[0].Reason())))
	}
	span.SetAttributes(append(about, of(w.View().Key).Attribute())...)
	telemetry.Link(ctx, held.Rollouts.Current.Trace, about...)
}
