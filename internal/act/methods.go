package act

import (
	"context"
	"reflect"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// methods are the methods of the executor by the type of action that they carry out. An action that the write of
// the Lease carries out needs a method only if it is passed on. An action without a request needs none.
var methods = byType(slices.Concat(methodsOfAllKinds, methodsOfGroups, methodsOfPools)...)

var methodsOfAllKinds = []method{
	sends("delete pod", (*Executor).deletePod),
	sends("cancel deletion", (*Executor).cancelDeletion),
}

// method carries out the actions of one type.
type method struct {
	of   reflect.Type
	span string // the name of the span of its request; empty: it sends none
	do   func(e *Executor, ctx context.Context, w plan.Workload, step plan.Action) error
}

// sends returns the method that sends the request of an action of type A.
func sends[A plan.Action](span string, send func(*Executor, context.Context, plan.Key, A) error) method {
	return method{reflect.TypeFor[A](), span, func(e *Executor, ctx context.Context, w plan.Workload, step plan.Action) error {
		return send(e, ctx, w.View().Key, step.(A)) //nolint:errcheck // it is found by this type
	}}
}

func byType(all ...method) map[reflect.Type]method {
	methods := make(map[reflect.Type]method, len(all))
	for _, m := range all {
		methods[m.of] = m
	}
	return methods
}
