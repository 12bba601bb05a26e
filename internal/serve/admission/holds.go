package admission

import (
	"context"
	"errors"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Holds are the holds of groups, for judges, who write nothing else. A request takes
// its time, so whether its namespace may be written to is asked again before every
// single write.
type Holds struct {
	Store   Store
	Managed func(namespace string) bool // whether a namespace opted in
}

// Store stores the holds of groups.
type Store interface {
	Cached(plan.Key) plan.Hold
	Write(context.Context, plan.Key, plan.Hold) error
	Relabel(context.Context, plan.Key) error
}

// errOptedOut is why a write was not sent.
var errOptedOut = errors.New("the namespace is no longer managed")

// Cached returns the newest record that this process knows of.
func (h Holds) Cached(key plan.Key) plan.Hold { return h.Store.Cached(key) }

// Write stores a record, in a namespace that is still managed.
func (h Holds) Write(ctx context.Context, key plan.Key, record plan.Hold) error {
	if !h.Managed(key.Namespace) {
		return errOptedOut
	}
	return h.Store.Write(ctx, key, record)
}

// Relabel gives a Lease that lost it the label by which it is watched, in a namespace that is
// still managed.
func (h Holds) Relabel(ctx context.Context, key plan.Key) error {
	if !h.Managed(key.Namespace) {
		return errOptedOut
	}
	return h.Store.Relabel(ctx, key)
}
