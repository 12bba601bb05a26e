package operator

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/control/budget"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// decisionLoop is the name of the loop over budgets with a new decision in logs, spans and
// metrics.
const decisionLoop = "decision"

// decisions write this process's answers to evictions into the status of budgets. Every replica
// does that, not only the leader.
type decisions struct {
	latest *budget.Decisions
	loop   *loop.Loop[budget.Name]
	now    func() time.Time
}

func (o *Operator) tellOfDecisions() *decisions {
	latest := &budget.Decisions{Cache: o.budgets, Managed: o.observer.Managed, Client: o.clients.dynamic, Log: o.log, Now: o.clients.clock.Now}
	l := loop.New(loop.Options[budget.Name]{
		Name:      decisionLoop,
		Reconcile: latest.Reconcile,
		Namespace: func(n budget.Name) string { return n.Namespace },
		Log:       o.log,
		Tracer:    o.tracer,
		Queues:    o.metrics.Queues(),
		Observe:   panics[budget.Name](o.metrics, decisionLoop),
	})
	latest.Soon = l.AddAfter
	return &decisions{latest, l, o.clients.clock.Now}
}

// decided records the answer to an eviction.
func (d *decisions) decided(ctx context.Context, e admission.Eviction, covering string, v admission.Verdict) {
	if d != nil {
		d.latest.Take(budget.Name{Namespace: e.Namespace, Budget: covering}, decisionOf(ctx, e.Pod, v, d.now()))
	}
}

// decisionOf returns the record of a verdict in a budget's status, with its trace.
func decisionOf(ctx context.Context, pod string, v admission.Verdict, now time.Time) budget.Decision {
	decision := budget.Decision{Pod: pod, Allowed: v.Allowed, Reason: string(v.Reason), Message: v.Message, Time: metav1.NewTime(now)}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		decision.TraceID = span.TraceID().String()
	}
	return decision
}
