package act

import (
	"context"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Sends adds a method for an action that only a test has. It is removed when remove is called.
func Sends[A plan.Action](span string, send func(*Executor, context.Context, plan.Key, A) error) (remove func()) {
	m := sends(span, send)
	methods[m.of] = m
	return func() { delete(methods, m.of) }
}
