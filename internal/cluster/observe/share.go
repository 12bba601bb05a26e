package observe

import (
	"maps"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// shares count the zones that take over the replicas of a resource, as events tell
// of them one after the other: so it is known when the number changes that counts
// for all of them, without a look at the others.
type shares map[string]*share // by resource

// share is what is counted of one resource.
type share struct {
	groups map[plan.Key]int // how many zones of a group name it
	sizes  map[int]int      // how many zones that are written back have so many replicas
}

// least returns the least spec.replicas of all that are written back; -1 without any.
func (s *share) least() int {
	if s == nil || len(s.sizes) == 0 {
		return -1
	}
	return slices.Min(slices.Collect(maps.Keys(s.sizes)))
}

// count adds a zone to its resource, or takes it off by -1.
func (all shares) count(m mirroring, by int) {
	if m.reference.None() {
		return
	}
	name := sharing(m.key.Namespace, m.reference)
	s := all[name]
	if s == nil {
		s = &share{groups: map[plan.Key]int{}, sizes: map[int]int{}}
		all[name] = s
	}
	if s.groups[m.key] += by; s.groups[m.key] == 0 {
		delete(s.groups, m.key)
	}
	if m.writeBack {
		if s.sizes[m.replicas] += by; s.sizes[m.replicas] == 0 {
			delete(s.sizes, m.replicas)
		}
	}
	if len(s.groups) == 0 {
		delete(all, name)
	}
}

// changed counts a zone as it is instead of as it was, and returns the other groups
// for whose resource another number counts now.
func (all shares) changed(was, is mirroring) []plan.Key {
	before := map[string]int{}
	for _, m := range []mirroring{was, is} {
		if name := sharing(m.key.Namespace, m.reference); !m.reference.None() {
			before[name] = all[name].least()
		}
	}
	all.count(was, -1)
	all.count(is, 1)
	var concerned []plan.Key
	for name, least := range before {
		if s := all[name]; s != nil && s.least() != least {
			for key := range s.groups {
				if key != was.key && key != is.key {
					concerned = append(concerned, key)
				}
			}
		}
	}
	return concerned
}
