package act

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// Rollouts makes traces of rollouts from the records in Leases.
type Rollouts interface {
	// Begin returns the traceparent of a new rollout; "" if it has no trace.
	Begin(ctx context.Context) string
	// Kept returns the rollouts that the Lease still has to record, without those that the trace collector
	// already has.
	Kept(key plan.Key, remembered plan.Rollouts) plan.Rollouts
}

// writeHold writes the Lease as decided.
func (e *Executor) writeHold(ctx context.Context, w plan.Workload, d hold.Decision) error {
	key := w.View().Key
	switch d.Need {
	case hold.Write:
		record := e.traced(ctx, w, d.Record)
		return e.request(ctx, "write hold", key, "", func(ctx context.Context) error {
			return e.Holds.Write(ctx, key, record)
		})
	case hold.Remove:
		return e.request(ctx, "remove hold", key, "", func(ctx context.Context) error {
			return e.Holds.Remove(ctx, key, w.Record())
		})
	case hold.Label:
		return e.request(ctx, "label hold", key, "", func(ctx context.Context) error {
			return e.Holds.Label(ctx, key, w.Record())
		})
	case hold.Carry, hold.ReadLive:
	}
	return nil
}

// traced returns a record with the trace of the current rollout. Without a rollout, a record of a free group gets
// the trace of the reconcile. New intents get it as well.
func (e *Executor) traced(ctx context.Context, w plan.Workload, record plan.Record) plan.Record {
	reconcile := telemetry.Traceparent(ctx)
	record.Rollouts = e.Rollouts.Kept(w.View().Key, record.Rollouts)
	record.Rollouts.Replacements = e.tracedReplacements(ctx, record.Rollouts.Replacements)
	current := &record.Rollouts.Current
	if current.Begun() && current.Trace == "" {
		current.Trace = e.Rollouts.Begin(ctx)
		telemetry.Link(ctx, current.Trace, attribute.String("lockstep.holder", record.Holder.Plain()))
	}
	switch {
	case current.Begun() && current.Trace != "":
		record.Trace = current.Trace
	case w.Record().Holder.Free() && reconcile != "":
		record.Trace = reconcile
	}
	for i := range record.Intents {
		if record.Intents[i].Trace == "" {
			record.Intents[i].Trace = reconcile
		}
	}
	return record
}

// tracedReplacements returns replacements with their traces, without those that are not sampled.
func (e *Executor) tracedReplacements(ctx context.Context, all []plan.Replacement) []plan.Replacement {
	var sampled []plan.Replacement
	for _, r := range all {
		if r.Trace == "" {
			r.Trace = e.Rollouts.Begin(ctx)
		}
		if plan.Sampled(r.Trace) {
			sampled = append(sampled, r)
		}
	}
	return sampled
}

// within returns a context that ends before the hold could expire, if the hold covers the requests. The hold is
// dated by the API server's clock; the monotonic clock measures requests.
func (e *Executor) within(ctx context.Context, held plan.Record, steps []plan.Action, d hold.Decision) (context.Context, context.CancelFunc) {
	switch {
	case d.Need == hold.Write && !d.Record.Holder.Foreign():
		return context.WithTimeout(ctx, hold.Deadline(d.Record).Sub(e.Clock.Now()))
	case slices.ContainsFunc(steps, func(step plan.Action) bool { return step.Effect().EndsBeforeExpiry }):
		return context.WithTimeout(ctx, hold.Deadline(held).Sub(e.Clock.Now()))
	}
	return context.WithCancel(ctx)
}
