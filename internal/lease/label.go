package lease

import (
	"context"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// hidden tells whether a record that was read notes something that has to be ended, and
// no watch shows it: somebody has taken the label off its Lease.
func (s *Store) hidden(key plan.Key, record plan.Hold) bool {
	lease := s.newest(key).lease
	known := lease == nil || watched(lease) || record.Unreadable != ""
	return !known && hold.Unfinished(record) && s.Relabels != nil && s.Relabels(key.Namespace)
}

// relabel writes the very record that was read with its label, so that whoever leads
// learns of it, and returns what is known then.
func (s *Store) relabel(ctx context.Context, key plan.Key, record plan.Hold) (plan.Hold, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	if err := s.Write(ctx, key, record); err != nil {
		return plan.Hold{}, err
	}
	return s.Cached(key), nil
}
