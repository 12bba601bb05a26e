package spans

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// Rollouts hands the spans of rollouts over to whoever collects traces. Its methods may
// be called concurrently; where spans go nowhere they do nothing.
type Rollouts struct {
	tracing telemetry.Tracing

	mu    sync.Mutex
	shown map[plan.Key][]telemetry.Ref // handed over, and still remembered by the Lease
}

// NewRollouts returns a Rollouts whose spans go through tracing.
func NewRollouts(tracing telemetry.Tracing) *Rollouts {
	return &Rollouts{tracing: tracing, shown: map[plan.Key][]telemetry.Ref{}}
}

// Begin returns the traceparent of a rollout that begins now.
func (r *Rollouts) Begin(ctx context.Context) string { return r.tracing.Begin(ctx, "rollout") }

// Show hands over what has ended of that which a Lease remembers, and of which it does
// not say that the collector has it. It does not wait.
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

// Forget drops what is known of a group.
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

// Kept returns what is to be remembered of a group from now on: without pods whose spans the
// collector has, and with a note where it has that of a zone or a rollout. What was
// remembered is left as it is.
func (r *Rollouts) Kept(key plan.Key, remembered plan.Rollouts) plan.Rollouts {
	if r.tracing.Recorded == nil {
		return remembered
	}
	remembered.Current = r.kept(key, remembered.Current)
	remembered.Finished = slices.Clone(remembered.Finished)
	for i, group := range remembered.Finished {
		remembered.Finished[i] = r.kept(key, group)
	}
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
		zone.Pods = slices.DeleteFunc(slices.Clone(zone.Pods), func(p plan.RolledPod) bool { return taken(ofPod(root, p)) })
		if len(zone.Pods) == 0 {
			zone.Pods = nil
		}
	}
	return group
}
