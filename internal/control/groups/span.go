package groups

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// longestDecision is the maximum length of a plan in a span.
const longestDecision = 1000

// describe adds the decision and its reason to the span of a reconcile, and a link to the trace
// of the current rollout.
func describe(ctx context.Context, s group.Snapshot, steps []plan.Action) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	about := []attribute.KeyValue{
		attribute.String("lockstep.decision", plan.InOneLine(steps, longestDecision)), attribute.String("lockstep.holder", s.Hold.Holder.Plain()),
	}
	if len(steps) > 0 {
		about = append(about, attribute.String("lockstep.reason", string(steps[0].Reason())))
	}
	span.SetAttributes(append(about, attribute.String("lockstep.group", s.Key.Name))...)
	telemetry.Link(ctx, s.Hold.Rollouts.Current.Trace, about...)
}
