package group

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// longestDecision bounds what a span says of a plan.
const longestDecision = 1000

// describe says in the span of a reconcile what was decided and why, and links it to
// the rollout that is under way, if one is.
func describe(ctx context.Context, s plan.Snapshot, steps []plan.Action) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	about := []attribute.KeyValue{
		attribute.String("lockstep.decision", inOneLine(steps, longestDecision)), attribute.String("lockstep.holder", s.Hold.Holder.Plain()),
	}
	if len(steps) > 0 {
		about = append(about, attribute.String("lockstep.reason", string(steps[0].Reason())))
	}
	span.SetAttributes(append(about, attribute.String("lockstep.group", s.Key.Name))...)
	telemetry.Link(ctx, s.Hold.Rollouts.Current.Trace, about...)
}
