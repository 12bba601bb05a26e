package admission

import (
	"context"
	"errors"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Holds reads and writes the holds of groups for judges. Requests take time, so Holds
// checks before every write whether the namespace is still managed.
type Holds struct {
	Store   Store
	Managed func(namespace string) bool // whether the namespace opted in
}

// Store stores the holds of groups.
type Store interface {
	Cached(plan.Key) plan.Record
	Read(context.Context, plan.Key) (plan.Record, error)
	Write(context.Context, plan.Key, plan.Record) error
	Label(context.Context, plan.Key, plan.Record) error
}

// errOptedOut is the error of a write to a namespace that is no longer managed.
var errOptedOut = errors.New("the namespace is no longer managed")

// Cached returns the newest record that this process knows.
func (h Holds) Cached(key plan.Key) plan.Record { return h.Store.Cached(key) }

// Write stores a record if the namespace is still managed.
func (h Holds) Write(ctx context.Context, key plan.Key, record plan.Record) error {
	if !h.Managed(key.Namespace) {
		return errOptedOut
	}
	return h.Store.Write(ctx, key, record)
}

// Relabel reads a Lease and restores the label by which lockstep watches it, if the label is missing and
// the namespace is still managed after the read.
func (h Holds) Relabel(ctx context.Context, key plan.Key) error {
	record, err := h.Store.Read(ctx, key)
	switch {
	case err != nil || !record.Unlabelled:
		return err
	case !h.Managed(key.Namespace):
		return errOptedOut
	}
	return h.Store.Label(ctx, key, record)
}
