package observe

import (
	"slices"

	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Budgets know the budgets for evictions. Its methods make no request.
type Budgets interface {
	// Budgets returns those of a namespace, in order of names, those that cannot be
	// used among them. Nobody changes what it returns.
	Budgets(namespace string) []plan.DisruptionBudget
	// Known reports whether they are known now, or there is no such kind.
	Known() bool
	// Answered reports whether the API server has said once what there is, or that it
	// does not show them, or has been asked for long in vain.
	Answered() bool
	// Listen registers who is told when those of a namespace have changed.
	Listen(changed func(namespace string))
}

// BudgetsKnown reports whether the budgets are known now, or there is no such kind.
func (o *Observer) BudgetsKnown() bool { return o.budgets == nil || o.budgets.Known() }

// listenToBudgets tells every group of a managed namespace when the budgets there have
// changed: which of them concern a group is the planner's to say. Those of a namespace
// that opts in later are told of by its own event.
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

// GroupsIn returns the groups of a namespace that have zones, and the budgets that
// select StatefulSets without a group.
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
