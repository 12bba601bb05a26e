package lease

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// decoded is a Lease with its record, so that each Lease is decoded only once.
type decoded struct {
	lease  *coordinationv1.Lease
	record plan.Record // snapshots share its maps and slices
}

// decoded returns the record of a Lease. The caller must hold mu.
func (s *Store) decoded(key plan.Key, lease *coordinationv1.Lease) plan.Record {
	if lease == nil {
		delete(s.records, key)
		return plan.Record{}
	}
	last := s.records[key]
	if last.lease != lease {
		next := decoded{lease, decode(key, lease)}
		next.record.Rollouts = last.rollouts(lease.Annotations[contract.RolloutsAnnotation])
		s.records[key], last = next, next
	}
	return last.record
}

// rollouts returns the rollouts that the next Lease records. It parses their text only if it changed, which
// is rare.
func (d decoded) rollouts(text string) plan.Rollouts {
	switch {
	case text == "":
		return plan.Rollouts{}
	case d.lease != nil && d.lease.Annotations[contract.RolloutsAnnotation] == text:
		return d.record.Rollouts
	}
	return record.ParseRollouts(text)
}

// Forget drops everything that the Store keeps of a group beyond the cache.
func (s *Store) Forget(key plan.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(key)
}

func (s *Store) forget(key plan.Key) {
	delete(s.written, key)
	delete(s.ages, key)
	delete(s.renewals, key)
	delete(s.records, key)
}

// gone drops what the Store keeps of a Lease that was deleted, also on replicas that do not lead. A later
// write or read belongs to another Lease and is kept.
func (s *Store) gone(object any) {
	if last, isLast := object.(cache.DeletedFinalStateUnknown); isLast {
		object = last.Obj
	}
	lease, is := object.(*coordinationv1.Lease)
	if !is {
		return
	}
	key, agrees := KeyOf(lease)
	s.mu.Lock()
	defer s.mu.Unlock()
	if agrees && s.written[key].version <= versionOf(lease) {
		s.forget(key)
	}
}

// remember keeps an answer of the API server, unless a later one is known. It does not keep the answer that a
// Lease never existed.
func (s *Store) remember(key plan.Key, r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, before := s.written[key]
	switch {
	case before && r.version < known.version:
	case r == reply{}:
		delete(s.written, key)
	default:
		s.written[key] = r
	}
}
