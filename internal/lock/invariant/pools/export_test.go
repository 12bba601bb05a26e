package pools

import (
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// Broken returns the names of all rules that a plan breaks. Check returns only the first.
func Broken(s pool.Snapshot, steps []plan.Action, d hold.Decision) []string {
	var names []string
	v := viewOf(&s, d)
	for _, rule := range rules {
		if rule.broken != nil && rule.broken(v, steps) != "" {
			names = append(names, rule.Name)
		}
	}
	return names
}

// BrokenByEviction returns the names of all rules that an allowed eviction breaks.
func BrokenByEviction(s pool.Snapshot, r plan.EvictionRequest, a plan.EvictionAnswer, d hold.Decision) []string {
	var names []string
	v := viewOf(&s, d)
	e := v.eviction(r, a)
	for _, rule := range rules {
		if rule.evicts != nil && rule.evicts(v, e) != "" {
			names = append(names, rule.Name)
		}
	}
	return names
}
