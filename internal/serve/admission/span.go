package admission

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// linkRollout adds the holder of the group to the span of a decision, and a link to the trace
// of the current rollout.
func linkRollout(ctx context.Context, holds Holds, key plan.Key) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	record := holds.Cached(key)
	holder := attribute.String("lockstep.holder", record.Holder.Plain())
	span.SetAttributes(attribute.String("lockstep.group", key.Name), holder)
	telemetry.Link(ctx, record.Rollouts.Current.Trace, holder)
}
