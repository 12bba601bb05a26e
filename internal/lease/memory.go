package lease

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// remembered is what a Lease remembers of rollouts, which seldom differs from one
// record to the next.
type remembered struct {
	text   string
	parsed plan.Rollouts
}

// remembers reads what a Lease remembers of rollouts, once for each text. Call it locked.
func (s *Store) remembers(key plan.Key, lease *coordinationv1.Lease) plan.Rollouts {
	text := ""
	if lease != nil {
		text = lease.Annotations[contract.RolloutsAnnotation]
	}
	if text == "" {
		delete(s.rollouts, key)
		return plan.Rollouts{}
	}
	last := s.rollouts[key]
	if last == nil || last.text != text {
		last = &remembered{parsed: hold.ParseRollouts(text)}
		s.rollouts[key] = last
	}
	last.text = text // that of the newest Lease, so that it is not kept twice
	return last.parsed
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
	delete(s.rollouts, key)
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
