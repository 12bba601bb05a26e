package admission

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// linkRollout says in the span of a decision who has the group, and links it to the
// rollout that is under way, if one is.
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
