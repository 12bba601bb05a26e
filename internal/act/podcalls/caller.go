package podcalls

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

// Options configure how pods are called. A zero value means the default.
type Options struct {
	ClusterDomain string        // cluster.local
	CallLimit     time.Duration // 5 s: the limit of one call
	UndoLimit     time.Duration // 30 s: the limit of one Undo
	Parallel      int           // 32: concurrent calls of one Prepare or Undo
	PerNamespace  int           // 64: concurrent calls to one namespace
	PerProcess    int           // 256: concurrent calls
	// Roots are the trusted certificate authorities for HTTPS. The default is those of the system.
	Roots *x509.CertPool

	// Managed reports whether pods of a namespace may still be called. It is called before each call. The
	// default is always true.
	Managed func(namespace string) bool
	// Tracer creates a span for each call. The default is no spans.
	Tracer trace.Tracer
	// Observe is called for each call that was made or refused, for metrics.
	Observe func(pod Pod, purpose Purpose, r Result)
}

// Purpose is the purpose of a call.
type Purpose string

// Purposes.
const (
	ToPrepare Purpose = "prepare"
	ToUndo    Purpose = "undo"
	ToLeave   Purpose = "leave" // after the delay
	ToStay    Purpose = "stay"
)

var methods = map[Purpose]string{ToPrepare: http.MethodPost, ToUndo: http.MethodDelete, ToLeave: http.MethodPost, ToStay: http.MethodDelete}

// Caller calls pods. Its methods may be called concurrently; its limits apply to all calls together.
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

// Prepare calls pods to prepare to leave. If one of the pods may not be called, Prepare calls none. After the
// first failure, and after the end of wanted, no further call begins. Calls in progress run to their end,
// because an undo during a call could reach the pod first.
//
// If not all of the pods leave afterwards, the caller must call Undo for all of them, including those that
// failed.
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

// Undo cancels what Prepare requested. It calls each pod, even if others fail, until ctx ends or the limit of
// an Undo is reached.
func (c *Caller) Undo(ctx context.Context, call contract.Call, pods []Pod) Results {
	ctx, stop := context.WithTimeout(ctx, c.options.UndoLimit)
	defer stop()
	all := round{c, ToUndo, call, pods, c.check(call, pods)}
	all.observeRefused()
	all.run(ctx, ctx, func() {})
	return all.results
}

// check returns a result for each pod: NotCalled if it may be called, or Refused with the reason.
func (c *Caller) check(call contract.Call, pods []Pod) Results {
	results := make(Results, len(pods))
	for i, pod := range pods {
		results[i] = Result{Pod: pod.Name, Outcome: NotCalled}
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

// round is one Prepare or Undo, or one message.
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

// run calls all pods that may be called. No call begins after the end of begin. run calls failed for each pod
// that fails.
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

// alone calls the only pod of the round if it may be called.
func (r round) alone(ctx context.Context) Result {
	r.results = r.caller.check(r.call, r.pods)
	r.observeRefused()
	if r.results[0].Outcome == Refused {
		return r.results[0]
	}
	return r.one(ctx, ctx, r.pods[0])
}

// one calls one pod when a slot is free.
func (r round) one(ctx, begin context.Context, pod Pod) Result {
	c := r.caller
	if err := c.slots.take(begin, pod.Namespace, pod.Name); err != nil {
		return Result{Pod: pod.Name, Outcome: NotCalled}
	}
	defer c.slots.give(pod.Namespace, pod.Name)
	if begin.Err() != nil || !c.options.Managed(pod.Namespace) {
		return Result{Pod: pod.Name, Outcome: NotCalled}
	}
	ctx, span := c.options.Tracer.Start(ctx, "hook "+string(r.purpose), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("k8s.namespace.name", pod.Namespace), attribute.String("k8s.pod.name", pod.Name)))
	defer span.End()

	address, _ := addressOf(pod) // check has validated it
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
