package hook

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/contract"
)

// Options say how pods are called. Every zero value stands for the default.
type Options struct {
	ClusterDomain string        // cluster.local
	CallLimit     time.Duration // 5 s: how long one call may take
	UndoLimit     time.Duration // 30 s: how long one Undo may take
	Parallel      int           // 32: calls of one Prepare or Undo at a time
	PerNamespace  int           // 64: calls to one namespace at a time
	PerProcess    int           // 256: calls at a time
	// Roots are whom calls by HTTPS trust. Not set: those of the system.
	Roots *x509.CertPool

	// Managed is asked before every single call, whether pods of a namespace may be
	// called still. Not set: always.
	Managed func(namespace string) bool
	// Tracer makes a span of every call. Not set: no spans.
	Tracer trace.Tracer
	// Observe is told about every call that was made or refused, for metrics.
	Observe func(pod Pod, purpose Purpose, r Result)
}

// Purpose is what a call is for.
type Purpose string

// Purposes.
const (
	ToPrepare Purpose = "prepare"
	ToUndo    Purpose = "undo"
	ToLeave   Purpose = "leave" // when a delay is over
	ToStay    Purpose = "stay"
)

var methods = map[Purpose]string{ToPrepare: http.MethodPost, ToUndo: http.MethodDelete, ToLeave: http.MethodPost, ToStay: http.MethodDelete}

// Caller calls pods. Its methods may be called from any goroutine; the limits
// hold for all of them together.
type Caller struct {
	options Options
	slots   *slots
}

// New returns a Caller.
func New(o Options) *Caller {
	o.ClusterDomain = strings.TrimSuffix(o.ClusterDomain, ".")
	if o.ClusterDomain == "" {
		o.ClusterDomain = "cluster.local"
	}
	if o.Tracer == nil {
		o.Tracer = noop.Tracer{}
	}
	if o.Managed == nil {
		o.Managed = func(string) bool { return true }
	}
	if o.Observe == nil {
		o.Observe = func(Pod, Purpose, Result) {}
	}
	o.CallLimit = orElse(o.CallLimit, 5*time.Second)
	o.UndoLimit = orElse(o.UndoLimit, 30*time.Second)
	o.Parallel = orElse(o.Parallel, 32)
	o.PerNamespace = orElse(o.PerNamespace, 64)
	o.PerProcess = orElse(o.PerProcess, 256)
	return &Caller{options: o, slots: newSlots(o.PerNamespace, o.PerProcess)}
}

func orElse[T int | time.Duration](value, usual T) T {
	if value <= 0 {
		return usual
	}
	return value
}

// Prepare asks pods to prepare to leave. If one of them may not be called, none
// is. The first that fails, and the end of wanted, stop what has not begun; calls
// under way run to their end, since a pod that is asked to undo in the middle of a
// call may answer in the wrong order.
//
// Whoever does not let all pods leave afterwards calls Undo, with those that
// failed among them.
func (c *Caller) Prepare(ctx, wanted context.Context, call contract.Call, pods []Pod) Results {
	begin, stop := context.WithCancel(wanted)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	all := round{c, ToPrepare, call, pods, c.check(call, pods)}
	if first := all.results.First(); first != nil && first.Outcome == Refused {
		all.observeRefused()
		return all.results
	}
	all.run(ctx, begin, stop)
	return all.results
}

// Undo takes back what Prepare asked for. It calls every pod whatever becomes of
// others, until ctx ends or the limit of an Undo is reached.
func (c *Caller) Undo(ctx context.Context, call contract.Call, pods []Pod) Results {
	ctx, stop := context.WithTimeout(ctx, c.options.UndoLimit)
	defer stop()
	all := round{c, ToUndo, call, pods, c.check(call, pods)}
	all.observeRefused()
	all.run(ctx, ctx, func() {})
	return all.results
}

// check says of every pod that it is to be asked, or why it may not be.
func (c *Caller) check(call contract.Call, pods []Pod) Results {
	results := make(Results, len(pods))
	for i, pod := range pods {
		results[i] = Result{Pod: pod.Name, Outcome: NotAsked}
		if why := c.objection(call, pod); why != "" {
			results[i].Outcome, results[i].Why = Refused, why
		}
	}
	return results
}

func (c *Caller) objection(call contract.Call, pod Pod) Why {
	_, why := addressOf(pod)
	switch {
	case why != "":
		return why
	case pod.Service == "":
		return NoService
	case nameOf(pod, c.options.ClusterDomain) == "":
		return BadName
	case !call.Valid():
		return BadCall
	}
	return ""
}

// round is one Prepare or Undo.
type round struct {
	caller  *Caller
	purpose Purpose
	call    contract.Call
	pods    []Pod
	results Results
}

func (r round) observeRefused() {
	for i, result := range r.results {
		if result.Outcome == Refused {
			r.caller.options.Observe(r.pods[i], r.purpose, result)
		}
	}
}

// run asks all pods that are to be asked. Nothing begins after begin has ended;
// failed is called for every pod that does.
func (r round) run(ctx, begin context.Context, failed func()) {
	parallel.Each(len(r.pods), r.caller.options.Parallel, func(i int) {
		if begin.Err() != nil || r.results[i].Outcome == Refused {
			return
		}
		if r.results[i] = r.one(ctx, begin, r.pods[i]); r.results[i].Outcome == Failed {
			failed()
		}
	})
}

// alone asks the one pod there is, if it may be asked.
func (r round) alone(ctx context.Context) Result {
	r.results = r.caller.check(r.call, r.pods)
	r.observeRefused()
	if r.results[0].Outcome == Refused {
		return r.results[0]
	}
	return r.one(ctx, ctx, r.pods[0])
}

// one asks one pod when it is its turn.
func (r round) one(ctx, begin context.Context, pod Pod) Result {
	c := r.caller
	if err := c.slots.take(begin, pod.Namespace, pod.Name); err != nil {
		return Result{Pod: pod.Name, Outcome: NotAsked}
	}
	defer c.slots.give(pod.Namespace, pod.Name)
	if begin.Err() != nil || !c.options.Managed(pod.Namespace) {
		return Result{Pod: pod.Name, Outcome: NotAsked}
	}
	ctx, span := c.options.Tracer.Start(ctx, "hook "+string(r.purpose), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("k8s.namespace.name", pod.Namespace), attribute.String("k8s.pod.name", pod.Name)))
	defer span.End()

	address, _ := addressOf(pod) // checked before
	result := conversation{
		method: methods[r.purpose], call: r.call, pod: pod, limit: c.options.CallLimit,
		roots: c.options.Roots, stamped: r.purpose == ToLeave,
		name:   nameOf(pod, c.options.ClusterDomain),
		target: netip.AddrPortFrom(address, uint16(r.call.Port)),
	}.hold(ctx)

	span.SetAttributes(attribute.Int("http.response.status_code", result.Status))
	if result.Outcome != Answered {
		span.SetStatus(codes.Error, string(result.Why))
	}
	c.options.Observe(pod, r.purpose, result)
	return result
}
