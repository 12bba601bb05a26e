package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/kubernetes"
	metadataclient "k8s.io/client-go/metadata"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// atATime limits the concurrent requests about pods for one plan.
const atATime = 10

// Executor writes to the API server. Its methods may be called concurrently
// for different groups.
type Executor struct {
	Client       kubernetes.Interface
	Metadata     metadataclient.Interface // writes to resources of any kind
	References   References
	Holds        *lease.Store
	Fresh        *freshness.Log
	Checks       Checks // only needed for StatefulClusters
	Tracer       trace.Tracer
	Rollouts     Rollouts                    // creates the traces of rollouts
	Preparations Preparations                // calls pods to prepare for a downscale
	Messages     Messages                    // notifies pods that they leave or stay
	Managed      func(namespace string) bool // called before each write
	Clock        *clock.Clock                // dates records
	DryRun       bool                        // if set, Run writes nothing

	unlabelled unlabelledPods
}

// The limits for one plan. Actions under the hold leave time for actions that require no hold. After the limit,
// requests in progress and further requests fail, and their actions are planned again.
const (
	longestRun       = time.Minute
	longestUnderHold = 45 * time.Second // with the actions before the Lease
	// longestBeforeLease leaves time for disruptions of a plan that was confirmed before these actions.
	longestBeforeLease = hold.RequestTimeout
)

// Run carries out a plan that was made from w, under the hold that d decides. It returns a receipt for each
// action that it tried. An error of class Moved means that objects have changed since the plan was made.
func (e *Executor) Run(ctx context.Context, w plan.Workload, steps []plan.Action, d hold.Decision) ([]plan.Receipt, error) {
	if e.DryRun {
		return nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, longestRun)
	defer stop()
	held, stopHeld := context.WithTimeout(ctx, longestUnderHold)
	defer stopHeld()
	before, stopBefore := context.WithTimeout(held, longestBeforeLease)
	defer stopBefore()
	receipts := e.runConcurrently(before, w, plan.In(plan.BeforeLease, steps))
	done, err := e.underHold(held, w, steps, d)
	receipts = append(receipts, done...)
	receipts = append(receipts, e.runByZone(ctx, w, plan.In(plan.WithoutHold, steps), hold.Decision{})...)
	if err == nil {
		receipts = append(receipts, e.call(ctx, w, withoutFailedResizes(plan.In(plan.Notifying, steps), receipts))...)
	}
	return receipts, errors.Join(failures(receipts), err)
}

// underHold writes the Lease as decided, and carries out the actions that require the hold.
func (e *Executor) underHold(ctx context.Context, w plan.Workload, steps []plan.Action, d hold.Decision) ([]plan.Receipt, error) {
	if err := e.writeHold(ctx, w, d); err != nil {
		return nil, err
	}
	recorded := e.receiptsOfLeaseWrite(ctx, w, plan.In(plan.WithLease, steps))
	ctx, stop := e.within(ctx, w.Record(), steps, d)
	defer stop()
	receipts := e.disrupt(ctx, w, plan.In(plan.Disrupting, steps), d)
	receipts = append(receipts, e.runByZone(ctx, w, plan.In(plan.UnderHold, steps), d)...)
	if plan.Disrupts(steps) && tooLate(d) && len(receipts) == 0 {
		return recorded, errTooLate
	}
	receipts = append(receipts, recorded...)
	return append(receipts, e.call(ctx, w, plan.In(plan.Calling, steps))...), nil
}

// errTooLate is the error of a plan that was confirmed too long ago. It is made again.
var errTooLate = reason.WithClass(reason.Moved, errors.New("the plan was confirmed too long ago"))

func tooLate(d hold.Decision) bool {
	return !d.DisruptBefore.IsZero() && !time.Now().Before(d.DisruptBefore)
}

// mayBegin reports whether an action may still begin: a disruption only while its plan counts as confirmed.
func mayBegin(step plan.Action, d hold.Decision) bool { return !step.Effect().Disrupts || !tooLate(d) }

// beginWithin is how long after the first delete of a plan the last one may begin.
const beginWithin = time.Second

// disrupt deletes pods concurrently. If the API server is slow, it leaves deletes out, and they are planned again: the
// group may have changed since the first one (ADR 32).
func (e *Executor) disrupt(ctx context.Context, w plan.Workload, steps []plan.Action, d hold.Decision) []plan.Receipt {
	began := time.Now()
	receipts := make([]plan.Receipt, len(steps))
	parallel.Each(len(steps), atATime, func(i int) {
		if time.Since(began) < beginWithin && mayBegin(steps[i], d) {
			receipts[i] = e.carryOut(ctx, w, steps[i])
		}
	})
	return begun(receipts)
}

// begun drops the empty receipts of actions that did not begin.
func begun(receipts []plan.Receipt) []plan.Receipt {
	return slices.DeleteFunc(receipts, func(r plan.Receipt) bool { return r.Step == nil })
}

// runConcurrently carries out actions concurrently, up to atATime of them.
func (e *Executor) runConcurrently(ctx context.Context, w plan.Workload, steps []plan.Action) []plan.Receipt {
	receipts := make([]plan.Receipt, len(steps))
	parallel.Each(len(steps), atATime, func(i int) { receipts[i] = e.carryOut(ctx, w, steps[i]) })
	return receipts
}

// runByZone carries out the actions of each zone one after the other, and zones concurrently, up to atATime of them:
// a zone whose requests hang does not delay the others.
func (e *Executor) runByZone(ctx context.Context, w plan.Workload, steps []plan.Action, d hold.Decision) []plan.Receipt {
	zones, of := []string{}, map[string][]int{}
	for i, step := range steps {
		zone := step.Effect().Zone
		if of[zone] == nil {
			zones = append(zones, zone)
		}
		of[zone] = append(of[zone], i)
	}
	receipts := make([]plan.Receipt, len(steps))
	parallel.Each(len(zones), atATime, func(n int) {
		for _, i := range of[zones[n]] {
			if mayBegin(steps[i], d) {
				receipts[i] = e.carryOut(ctx, w, steps[i])
			}
		}
	})
	return begun(receipts)
}

// receiptsOfLeaseWrite returns receipts for the actions that the write of the Lease has carried out. If an action has
// a method, receiptsOfLeaseWrite calls it.
func (e *Executor) receiptsOfLeaseWrite(ctx context.Context, w plan.Workload, steps []plan.Action) []plan.Receipt {
	receipts := make([]plan.Receipt, len(steps))
	for i, step := range steps {
		receipts[i] = plan.Receipt{Step: step}
		if _, passedOn := methods[reflect.TypeOf(step)]; passedOn {
			receipts[i] = e.carryOut(ctx, w, step)
		}
	}
	return receipts
}

// call carries out actions that call pods, without waiting for their answers. Once ctx has ended or the namespace
// has opted out, it carries out no further action.
func (e *Executor) call(ctx context.Context, w plan.Workload, steps []plan.Action) []plan.Receipt {
	var receipts []plan.Receipt
	for _, step := range steps {
		if ctx.Err() == nil && e.Managed(w.View().Key.Namespace) {
			receipts = append(receipts, e.carryOut(ctx, w, step))
		}
	}
	return receipts
}

// withoutFailedResizes drops messages for pods of zones whose replicas could not be written: a pod that leaves after all
// must not be notified that it stays.
func withoutFailedResizes(messages []plan.Action, receipts []plan.Receipt) []plan.Action {
	failed := map[string]bool{}
	for _, r := range receipts {
		if e := r.Step.Effect(); e.Resizes && r.Err != nil {
			failed[e.Zone] = true
		}
	}
	return slices.DeleteFunc(messages, func(step plan.Action) bool { return failed[step.Effect().Zone] })
}

// carryOut carries out one action by the method for its type. Once ctx has ended, it sends no request.
func (e *Executor) carryOut(ctx context.Context, w plan.Workload, step plan.Action) plan.Receipt {
	m, exists := methods[reflect.TypeOf(step)]
	switch {
	case !exists:
		return plan.Receipt{Step: step, Err: fmt.Errorf("no method of the executor carries out %T", step)}
	case m.span == "":
		return plan.Receipt{Step: step, Err: m.do(e, ctx, w, step)}
	case ctx.Err() != nil:
		return plan.Receipt{Step: step, Err: fmt.Errorf("%w: %w", plan.ErrNotSent, ctx.Err())}
	}
	effect := step.Effect()
	return plan.Receipt{Step: step, Err: e.request(ctx, m.span, w.View().Key, cmp.Or(effect.Pod, effect.Zone), func(ctx context.Context) error {
		return m.do(e, ctx, w, step)
	})}
}

// errOptedOut is the error of a write that was not sent because its namespace opted out.
var errOptedOut = reason.WithClass(reason.Moved, errors.New("the namespace is no longer managed"))

// request sends one write within its span and its time limit, unless the namespace has opted out.
func (e *Executor) request(ctx context.Context, name string, key plan.Key, object string, send func(context.Context) error) error {
	ctx, span := e.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("k8s.namespace.name", key.Namespace),
		attribute.String("lockstep.group", key.Name),
		attribute.String("lockstep.object", object),
	))
	defer span.End()
	if !e.Managed(key.Namespace) {
		return errOptedOut
	}
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	err := send(ctx)
	if err != nil && reason.ClassOf(err) != reason.Moved {
		span.RecordError(err)
		span.SetStatus(codes.Error, name)
	}
	return err
}

func failures(receipts []plan.Receipt) error {
	var errs []error
	for _, r := range receipts {
		errs = append(errs, r.Err)
	}
	return errors.Join(errs...)
}

// touchMark returns a value that differs from that of the previous touch, so that the object changes.
func touchMark() string { return time.Now().UTC().Format(time.RFC3339Nano) }
