package observe

import (
	"slices"

	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Budgets are the budgets for evictions. The methods make no request.
type Budgets interface {
	// Budgets returns the budgets of a namespace, sorted by name. It includes invalid budgets.
	// Callers must not change the result.
	Budgets(namespace string) []group.DisruptionBudget
	// Known reports whether the budgets are known now, or the kind does not exist.
	Known() bool
	// Answered reports whether the API server has listed the budgets once, has refused to show
	// them, or has not answered for a long time.
	Answered() bool
	// Listen registers a function that is called when the budgets of a namespace have changed.
	Listen(changed func(namespace string))
}

// BudgetsKnown reports whether the budgets are known now, or the kind does not exist.
func (o *Observer) BudgetsKnown() bool { return o.budgets == nil || o.budgets.Known() }

// listenToBudgets enqueues every group of a managed namespace when its budgets have changed. The
// planner decides which of them concern a group. If a namespace opts in later, its own event
// enqueues its groups.
func (o *Observer) listenToBudgets(enqueue func(plan.Key)) {
	o.budgets.Listen(func(namespace string) {
		if !o.Managed(namespace) {
			return
		}
		for _, key := range slices.Concat(o.GroupsIn(namespace), o.drainedLeases(namespace)) {
			enqueue(key)
		}
	})
}

// GroupsIn returns the groups of a namespace that have zones, and the budgets that select
// StatefulSets without a group.
func (o *Observer) GroupsIn(namespace string) []plan.Key {
	var keys []plan.Key
	seen, budgets := map[plan.Key]bool{}, o.budgetsOf(namespace)
	for _, z := range lookup[*zoneRecord](o.zones, cache.NamespaceIndex, namespace) {
		if z.grouped && !seen[z.key()] {
			seen[z.key()] = true
			keys = append(keys, z.key())
		}
		if z.grouped || z.zone.Ignored || len(budgets) == 0 {
			continue
		}
		concerns := concernOf(z.labels, z.podLabels)
		for _, b := range budgets {
			key := plan.Key{Namespace: namespace, Name: b.Name, Kind: plan.KindBudget}
			if !seen[key] && concerns(b) {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}
