package lease

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// decoded is a Lease with what it says: a Lease is read once, however often somebody asks.
type decoded struct {
	lease  *coordinationv1.Lease
	record plan.Hold // snapshots share what it refers to
}

// decoded returns what a Lease says. Call it locked.
func (s *Store) decoded(key plan.Key, lease *coordinationv1.Lease) plan.Hold {
	if lease == nil {
		delete(s.records, key)
		return plan.Hold{}
	}
	last := s.records[key]
	if last.lease != lease {
		next := decoded{lease, decode(lease)}
		next.record.Rollouts = last.rollouts(lease.Annotations[contract.RolloutsAnnotation])
		s.records[key], last = next, next
	}
	return last.record
}

// rollouts reads what the next Lease remembers of rollouts, which seldom differs from one
// to the next.
func (d decoded) rollouts(text string) plan.Rollouts {
	switch {
	case text == "":
		return plan.Rollouts{}
	case d.lease != nil && d.lease.Annotations[contract.RolloutsAnnotation] == text:
		return d.record.Rollouts
	}
	return hold.ParseRollouts(text)
}

// Forget drops what is remembered of a group beyond the cache.
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

// gone drops what is remembered of a Lease that exists no more, on replicas too that do
// not lead. What was written or read later is of another one.
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

// remember keeps what the API server answered, unless something later is known. That
// nothing ever was there needs not be kept.
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
