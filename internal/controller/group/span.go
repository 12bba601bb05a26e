package group

import (
	"context"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/telemetry"
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
		attribute.String("lockstep.decision", decision(steps)), attribute.String("lockstep.holder", string(s.Hold.Holder)),
	}
	if len(steps) > 0 {
		about = append(about, attribute.String("lockstep.reason", string(steps[0].Reason())))
	}
	span.SetAttributes(append(about, attribute.String("lockstep.group", s.Key.Group))...)
	telemetry.Link(ctx, s.Hold.Rollouts.Current.Trace, about...)
}

// decision is a plan in one line.
func decision(steps []plan.Action) string {
	text := strings.ReplaceAll(plan.Notation(steps), "\n", "; ")
	if len(text) <= longestDecision {
		return text
	}
	text = text[:longestDecision]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "..."
}
