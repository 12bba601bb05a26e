package admission

import (
	"context"
	"errors"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
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

// UndoAgain records again that a downscale must be undone that another process has cancelled: pods may have received
// a call to prepare after that process notified them that they stay. If another operation has the hold by now,
// UndoAgain records nothing, because the leader handles what the Lease records.
func (h Holds) UndoAgain(ctx context.Context, key plan.Key, recorded group.Downscale, clock Clock) error {
	err := h.rewrite(ctx, key, func(held *group.Hold) error {
		part, possible := held.UndoAgain(recorded, clock.Now())
		if !possible {
			return errCancelled
		}
		next, possible := hold.Resume(held.Record(), part, clock.Now())
		if !possible {
			return errCancelled
		}
		*held = group.HoldOf(next)
		return nil
	})
	if errors.Is(err, errCancelled) {
		return nil
	}
	return err
}

// rewrite changes the newest known record by compare-and-swap.
func (h Holds) rewrite(ctx context.Context, key plan.Key, change func(*group.Hold) error) error {
	var err error
	for range attempts {
		held := group.HoldOf(h.Cached(key))
		if err := change(&held); err != nil {
			return err
		}
		held.Own = false // the process that continues reads the group live first
		if err = h.Write(ctx, key, held.Record()); reason.ClassOf(err) != reason.Moved {
			break
		}
	}
	return err
}
