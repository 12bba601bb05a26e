package invariant

import (
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Broken returns the names of all rules that the deletes break. Check returns only the first.
func Broken(s group.Snapshot, deletes []plan.DeletePod, decision hold.Decision) []string {
	var names []string
	steps := make([]plan.Action, len(deletes))
	for i, d := range deletes {
		steps[i] = d
	}
	decided := decidedOf(decision)
	for _, rule := range rules {
		if rule.broken(viewOf(&s), steps, &decided) != "" {
			names = append(names, rule.Name)
		}
	}
	return names
}

// BrokenByEviction returns the names of all rules that an allowed eviction breaks.
func BrokenByEviction(s group.Snapshot, r plan.EvictionRequest, p plan.EvictionAnswer, decision hold.Decision) []string {
	var names []string
	v := viewOf(&s)
	for _, rule := range rules {
		if rule.brokenByEviction(v, v.allowed(r, p, decision)) != "" {
			names = append(names, rule.Name)
		}
	}
	return names
}
