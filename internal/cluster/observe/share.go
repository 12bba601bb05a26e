package observe

import (
	"maps"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// shares counts the zones that take over the replicas of each resource. Events keep the counts up
// to date. Therefore a change of the number that counts for all of these zones is visible without
// a list of them.
type shares map[string]*share // by resource

// share is the count for one resource.
type share struct {
	groups map[plan.Key]int // how many zones of each group name the resource
	sizes  map[int]int      // how many zones that are written back have each number of replicas
}

// least returns the least spec.replicas of all zones that are written back, or -1 if there is
// none.
func (s *share) least() int {
	if s == nil || len(s.sizes) == 0 {
		return -1
	}
	return slices.Min(slices.Collect(maps.Keys(s.sizes)))
}

// count adds a zone to its resource; by is -1 to remove it.
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

// changed replaces the former state of a zone with the current one. It returns the other groups
// for whose resource the number that counts has changed.
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
