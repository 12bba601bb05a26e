package act

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// atATime bounds the requests about pods that are under way at a time for one plan.
const atATime = 10

// Executor writes to the API server. Its methods may be called concurrently
// for different groups.
type Executor struct {
	Client       kubernetes.Interface
	Metadata     metadataclient.Interface // writes to resources of any kind
	References   References
	Holds        *lease.Store
	Fresh        *freshness.Log
	Tracer       trace.Tracer
	Rollouts     Rollouts                    // whoever makes traces of rollouts
	Preparations Preparations                // whoever asks pods about a decrease
	Messages     Messages                    // whoever tells pods that they leave or stay
	Managed      func(namespace string) bool // asked before every single write
	Clock        *clock.Clock                // dates what is noted
	DryRun       bool                        // decide and report, write nothing
}

// References are resources whose replicas zones take over.
type References interface {
	// Resource returns what serves the kind of a reference now.
	Resource(r plan.Reference) (schema.GroupVersionResource, bool)
	// Reported hears what was written into the status of a resource, or was not
	// accepted there.
	Reported(namespace string, report plan.ReportReplicas, written plan.Report)
}

// One plan keeps a worker for so long at most, and what needs the hold leaves some of it to
// what does not. Requests under way or still to come fail then, and what they were for is
// planned again.
const (
	longestRun       = time.Minute
	longestUnderHold = 45 * time.Second
)

// Run carries out one plan that was made from s, under the hold as d says. The
// receipts say what became of each step that was tried. An error of class
// Moved means that the world has changed under the plan.
func (e *Executor) Run(ctx context.Context, s plan.Snapshot, steps []plan.Action, d hold.Decision) ([]plan.Receipt, error) {
	if e.DryRun {
		return nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, longestRun)
	defer stop()
	free, steps := withoutHold(steps)
	held, stopHeld := context.WithTimeout(ctx, longestUnderHold)
	defer stopHeld()
	receipts := e.withdraw(held, s.Key, steps)
	done, err := e.underHold(held, s, steps, d)
	receipts = append(receipts, done...)
	receipts = append(receipts, e.write(ctx, s.Key, free)...)
	if err == nil {
		receipts = append(receipts, e.tell(ctx, s, unmoved(steps, receipts))...)
	}
	return receipts, errors.Join(failures(receipts), err)
}

// underHold brings the Lease into the state that was decided, and carries out what needs it.
func (e *Executor) underHold(ctx context.Context, s plan.Snapshot, steps []plan.Action, d hold.Decision) ([]plan.Receipt, error) {
	if err := e.writeHold(ctx, s, d); err != nil {
		return nil, err
	}
	e.remember(s.Key, steps)
	ctx, stop := e.within(ctx, s.Hold, steps, d)
	defer stop()
	receipts := e.deletePods(ctx, s.Key, steps)
	receipts = append(receipts, e.write(ctx, s.Key, steps)...)
	receipts = append(receipts, receiptsOfNotes(steps)...)
	return append(receipts, e.ask(ctx, s, steps)...), nil
}

// withdraw touches pods whose delete is no longer wanted. One that fails stops nothing
// else: its intent stands and counts.
func (e *Executor) withdraw(ctx context.Context, key plan.Key, steps []plan.Action) []plan.Receipt {
	return severalOf(steps, func(w plan.Withdraw) error {
		return e.request(ctx, "withdraw", key, w.Intent.Pod, func(ctx context.Context) error {
			return e.touchPod(ctx, key, w.Intent)
		})
	})
}

// deletePods sends the deletes of a plan.
func (e *Executor) deletePods(ctx context.Context, key plan.Key, steps []plan.Action) []plan.Receipt {
	return severalOf(steps, func(d plan.DeletePod) error {
		return e.request(ctx, "delete pod", key, d.Pod, func(ctx context.Context) error {
			return e.deletePod(ctx, key, d)
		})
	})
}

// severalOf carries out the steps of one kind, a bounded number at a time.
func severalOf[T plan.Action](steps []plan.Action, do func(T) error) []plan.Receipt {
	several := plan.Only[T](steps)
	receipts := make([]plan.Receipt, len(several))
	parallel.Each(len(several), atATime, func(i int) {
		receipts[i] = plan.Receipt{Step: several[i], Err: do(several[i])}
	})
	return receipts
}

// write carries out what is written on StatefulSets, and on the resources whose
// replicas they take over, one after the other.
func (e *Executor) write(ctx context.Context, key plan.Key, steps []plan.Action) []plan.Receipt {
	var receipts []plan.Receipt
	for _, step := range steps {
		var name, zone string
		var write func(context.Context) error
		switch a := step.(type) {
		case plan.AdoptRevision:
			name, zone, write = "adopt revision", a.Zone, func(ctx context.Context) error { return e.adoptRevision(ctx, key, a) }
		case plan.VoidDecrease:
			name, zone, write = "void downscale", a.Decrease.Zone, func(ctx context.Context) error { return e.voidDecrease(ctx, key, a.Decrease) }
		case plan.StampDownscale:
			name, zone, write = "stamp downscale", a.Zone, func(ctx context.Context) error { return e.stampDownscale(ctx, key, a) }
		case plan.SetReplicas:
			name, zone, write = "set replicas", a.Zone, func(ctx context.Context) error { return e.setReplicas(ctx, key, a) }
		case plan.ReportReplicas:
			name, zone, write = "report replicas", a.Zone, func(ctx context.Context) error { return e.reportReplicas(ctx, key, a) }
		case plan.DeletePod, plan.Withdraw, plan.NoteDecrease, plan.PreparePods, plan.UndoPreparation, plan.EndDecrease,
			plan.TellPods, plan.NoteAgreed, plan.EndIntent, plan.NoteZones, plan.TakePlace, plan.Release, plan.Wait:
			continue
		}
		receipts = append(receipts, plan.Receipt{Step: step, Err: e.request(ctx, name, key, zone, write)})
	}
	return receipts
}

// withoutHold separates the steps that need no hold from all others: they give zones more
// replicas, or only say how many there are. They are carried out even where the hold
// could not be written, and last, since a zone whose pods are still to come is not
// whole: who is taken down by the same plan is so before.
func withoutHold(steps []plan.Action) (free, others []plan.Action) {
	for _, step := range steps {
		size, sizes := step.(plan.SetReplicas)
		_, reports := step.(plan.ReportReplicas)
		if reports || (sizes && size.To > size.From) {
			free = append(free, step)
		} else {
			others = append(others, step)
		}
	}
	return free, others
}

// receiptsOfNotes returns receipts for what was done by writing the hold alone.
func receiptsOfNotes(steps []plan.Action) []plan.Receipt {
	var receipts []plan.Receipt
	for _, step := range steps {
		switch step.(type) {
		case plan.NoteDecrease, plan.EndDecrease, plan.NoteAgreed, plan.EndIntent, plan.NoteZones, plan.TakePlace:
			receipts = append(receipts, plan.Receipt{Step: step})
		case plan.DeletePod, plan.Withdraw, plan.AdoptRevision, plan.VoidDecrease, plan.PreparePods, plan.UndoPreparation, plan.StampDownscale,
			plan.SetReplicas, plan.ReportReplicas, plan.TellPods, plan.Release, plan.Wait:
		}
	}
	return receipts
}

// errOptedOut is why a write was not sent.
var errOptedOut = reason.WithClass(reason.Moved, errors.New("the namespace is no longer managed"))

// request wraps one write with its span and its time limit, and sends none to
// a namespace that opted out in the meantime.
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

// touchMark makes a touch of an object differ from the one before.
func touchMark() string { return time.Now().UTC().Format(time.RFC3339Nano) }
