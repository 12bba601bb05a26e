package act

import (
	"context"
	"reflect"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// method carries out the actions of one type.
type method struct {
	span string // the name of the span of its request; empty: it sends none
	do   func(e *Executor, ctx context.Context, s plan.Snapshot, step plan.Action) error
}

// methods are those of the executor by the type of the action. An action of type WithLease needs none.
var methods = map[reflect.Type]method{}

// sends registers the method that sends the request of an action of type A.
func sends[A plan.Action](span string, do func(*Executor, context.Context, plan.Key, A) error) {
	methods[reflect.TypeFor[A]()] = method{span, func(e *Executor, ctx context.Context, s plan.Snapshot, step plan.Action) error {
		return do(e, ctx, s.Key, step.(A))
	}}
}

// passes registers the method that passes an action of type A on. Nothing that it does can fail.
func passes[A plan.Action](pass func(*Executor, plan.Snapshot, A)) {
	methods[reflect.TypeFor[A]()] = method{do: func(e *Executor, _ context.Context, s plan.Snapshot, step plan.Action) error {
		pass(e, s, step.(A))
		return nil
	}}
}

func init() {
	sends("delete pod", (*Executor).deletePod)
	sends("withdraw", (*Executor).touchPod)

	// Of rollout groups.
	sends("adopt revision", (*Executor).adoptRevision)
	sends("void downscale", (*Executor).voidDecrease)
	sends("stamp downscale", (*Executor).stampDownscale)
	sends("set replicas", (*Executor).setReplicas)
	sends("report replicas", (*Executor).reportReplicas)
	passes((*Executor).rememberDecrease)
	passes((*Executor).preparePods)
	passes((*Executor).undoPreparation)
	passes((*Executor).tellPods)
}
