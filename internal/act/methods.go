package act

import (
	"context"
	"reflect"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// methods are the methods of the executor by the type of action that they carry out. An action that the write of
// the Lease carries out needs a method only if it is passed on. An action without a request needs none.
var methods = byType(
	sends("delete pod", (*Executor).deletePod),
	sends("withdraw", (*Executor).cancelDeletion),

	// Of rollout groups.
	sends("adopt revision", (*Executor).adoptRevision),
	sends("void downscale", (*Executor).cancelDownscale),
	sends("stamp downscale", (*Executor).stampDownscale),
	sends("set replicas", (*Executor).setReplicas),
	sends("report replicas", (*Executor).reportReplicas),
	passes((*Executor).rememberDownscale),
	passes((*Executor).preparePods),
	passes((*Executor).cancelPreparation),
	passes((*Executor).notifyPods),
)

// method carries out the actions of one type.
type method struct {
	of   reflect.Type
	span string // the name of the span of its request; empty: it sends none
	do   func(e *Executor, ctx context.Context, s group.Snapshot, step plan.Action) error
}

// sends returns the method that sends the request of an action of type A.
func sends[A plan.Action](span string, send func(*Executor, context.Context, plan.Key, A) error) method {
	return method{reflect.TypeFor[A](), span, func(e *Executor, ctx context.Context, s group.Snapshot, step plan.Action) error {
		return send(e, ctx, s.Key, step.(A)) //nolint:errcheck // it is found by this type
	}}
}

// passes returns the method that passes on an action of type A. It cannot fail.
func passes[A plan.Action](pass func(*Executor, group.Snapshot, A)) method {
	return method{of: reflect.TypeFor[A](), do: func(e *Executor, _ context.Context, s group.Snapshot, step plan.Action) error {
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
