package act

import (
	"context"
	"reflect"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// methods are those of the executor, by the type of the action that they carry out. An action that the
// write of the Lease carries out needs one only if something is passed on, and one for which nothing is
// sent needs none.
var methods = byType(
	sends("delete pod", (*Executor).deletePod),
	sends("withdraw", (*Executor).touchPod),

	// Of rollout groups.
	sends("adopt revision", (*Executor).adoptRevision),
	sends("void downscale", (*Executor).voidDownscale),
	sends("stamp downscale", (*Executor).stampDownscale),
	sends("set replicas", (*Executor).setReplicas),
	sends("report replicas", (*Executor).reportReplicas),
	passes((*Executor).rememberDownscale),
	passes((*Executor).preparePods),
	passes((*Executor).undoPreparation),
	passes((*Executor).tellPods),
)

// method carries out the actions of one type.
type method struct {
	of   reflect.Type
	span string // the name of the span of its request; empty: it sends none
	do   func(e *Executor, ctx context.Context, s plan.Snapshot, step plan.Action) error
}

// sends returns the method that sends the request of an action of type A.
func sends[A plan.Action](span string, send func(*Executor, context.Context, plan.Key, A) error) method {
	return method{reflect.TypeFor[A](), span, func(e *Executor, ctx context.Context, s plan.Snapshot, step plan.Action) error {
		return send(e, ctx, s.Key, step.(A)) //nolint:errcheck // it is found by this type
	}}
}

// passes returns the method that passes an action of type A on. Nothing that it does can fail.
func passes[A plan.Action](pass func(*Executor, plan.Snapshot, A)) method {
	return method{of: reflect.TypeFor[A](), do: func(e *Executor, _ context.Context, s plan.Snapshot, step plan.Action) error {
		pass(e, s, step.(A)) //nolint:errcheck // it is found by this type
		return nil
	}}
}

func byType(all ...method) map[reflect.Type]method {
	methods := make(map[reflect.Type]method, len(all))
	for _, m := range all {
		methods[m.of] = m
	}
	return methods
}
