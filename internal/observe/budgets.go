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
	// does not show them.
	Answered() bool
	// Listen registers who is told when those of a namespace have changed.
	Listen(changed func(namespace string))
}

// BudgetsKnown reports whether the budgets are known now, or there is no such kind.
func (o *Observer) BudgetsKnown() bool { return o.budgets == nil || o.budgets.Known() }

// listenToBudgets tells every group of a namespace when the budgets there have
// changed: which of them concern a group is the planner's to say.
func (o *Observer) listenToBudgets(enqueue func(plan.Key)) {
	o.budgets.Listen(func(namespace string) {
		for _, key := range slices.Concat(o.GroupsIn(namespace), o.drainedLeases(namespace)) {
			enqueue(key)
		}
	})
}

// GroupsIn returns the groups of a namespace that have zones, and the budgets that
// select StatefulSets without a group.
func (o *Observer) GroupsIn(namespace string) []plan.Key {
	var keys []plan.Key
	seen := map[plan.Key]bool{}
	for _, z := range lookup[*zoneRecord](o.zones, cache.NamespaceIndex, namespace) {
		if z.grouped && !seen[z.key()] {
			seen[z.key()] = true
			keys = append(keys, z.key())
		}
		if z.grouped {
			continue
		}
		for _, b := range o.budgetsOf(namespace) {
			key := plan.Key{Namespace: namespace, Group: b.Name, Covered: true}
			if !seen[key] && concerns(b, z.labels, z.podLabels) {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}
