package spans

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// Rollouts exports the spans of rollouts. Its methods are safe for concurrent use. If spans are
// not exported, they do nothing.
type Rollouts struct {
	tracing telemetry.Tracing

	mu    sync.Mutex
	shown map[plan.Key][]telemetry.Ref // handed over, and still in the Lease's record
}

// NewRollouts returns Rollouts that export spans through tracing.
func NewRollouts(tracing telemetry.Tracing) *Rollouts {
	return &Rollouts{tracing: tracing, shown: map[plan.Key][]telemetry.Ref{}}
}

// Begin returns the traceparent of a rollout that begins now.
func (r *Rollouts) Begin(ctx context.Context) string { return r.tracing.Begin(ctx, "rollout") }

// Show exports the spans of a Lease's record that have ended and that are not marked as exported.
// It does not wait.
func (r *Rollouts) Show(ctx context.Context, key plan.Key, remembered plan.Rollouts) {
	if r.tracing.Recorded == nil {
		return
	}
	var shown []telemetry.Ref
	for _, span := range told(key, remembered) {
		r.tracing.Recorded.Hand(ctx, span)
		shown = append(shown, span.Of.In(span.Context))
	}
	r.replace(key, shown)
}

// Forget drops the state of a group.
func (r *Rollouts) Forget(key plan.Key) {
	if r.tracing.Recorded != nil {
		r.replace(key, nil)
	}
}

func (r *Rollouts) replace(key plan.Key, shown []telemetry.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, it := range r.shown[key] {
		if !slices.Contains(shown, it) {
			r.tracing.Recorded.Forget(it)
		}
	}
	if r.shown[key] = shown; len(shown) == 0 {
		delete(r.shown, key)
	}
}

// Kept returns the record to write from now on. It omits pods whose spans the collector has, and
// marks zones and rollouts whose spans the collector has. It does not change remembered.
func (r *Rollouts) Kept(key plan.Key, remembered plan.Rollouts) plan.Rollouts {
	if r.tracing.Recorded == nil {
		return remembered
	}
	remembered.Current = r.kept(key, remembered.Current)
	remembered.Finished = slices.Clone(remembered.Finished)
	for i, group := range remembered.Finished {
		remembered.Finished[i] = r.kept(key, group)
	}
	remembered.Replacements = slices.DeleteFunc(slices.Clone(remembered.Replacements), func(one plan.Replacement) bool {
		root := telemetry.SpanOf(one.Trace)
		return !one.Open && root.IsValid() && r.tracing.Recorded.Taken(of(key).In(root))
	})
	return remembered
}

func (r *Rollouts) kept(key plan.Key, group plan.RolledGroup) plan.RolledGroup {
	root := telemetry.SpanOf(group.Trace)
	if !root.IsValid() {
		return group
	}
	taken := func(id trace.SpanID) bool { return r.tracing.Recorded.Taken(of(key).In(root.WithSpanID(id))) }
	group.Exported = group.Exported || taken(root.SpanID())
	group.Zones = slices.Clone(group.Zones)
	for i := range group.Zones {
		zone := &group.Zones[i]
		zone.Exported = zone.Exported || taken(ofZone(root, *zone))
		zone.Pods = slices.DeleteFunc(slices.Clone(zone.Pods), func(p plan.RolledPod) bool { return !p.Open && taken(ofPod(root, p)) })
		if len(zone.Pods) == 0 {
			zone.Pods = nil
		}
	}
	return group
}
