package observe

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func (o *Observer) budgetsOf(namespace string) []group.DisruptionBudget {
	if o.budgets == nil {
		return nil
	}
	return o.budgets.Budgets(namespace)
}

// concernOf returns a function that reports whether a budget selects a StatefulSet or the pods of
// its template. It parses the labels once for all budgets.
func concernOf(set, pods plan.Labels) func(group.DisruptionBudget) bool {
	own, made := set.Map(), pods.Map()
	return func(b group.DisruptionBudget) bool { return b.Selector.Matches(own) || b.Selector.Matches(made) }
}

// zonesOf returns the StatefulSets of a key: the zones of a group, or all StatefulSets that a
// budget selects. A budget may also select zones of groups. These are evicted under the hold of
// their group; for the budget they only have to be available.
func (o *Observer) zonesOf(key plan.Key) []*zoneRecord {
	if key.Kind == plan.KindBudget {
		return o.selected(key)
	}
	return slices.DeleteFunc(lookup[*zoneRecord](o.zones, byGroup, key.String()), func(r *zoneRecord) bool { return r.key() != key })
}

func (o *Observer) selected(key plan.Key) []*zoneRecord {
	budget, exists := o.budget(key)
	if !exists {
		return nil
	}
	orphaned := o.orphanedZones(key)
	return slices.DeleteFunc(lookup[*zoneRecord](o.zones, cache.NamespaceIndex, key.Namespace), func(r *zoneRecord) bool {
		return r.zone.Ignored || !orphaned[r.zone.Name] && !concernOf(r.labels, r.podLabels)(budget)
	})
}

// orphanedZones returns the names of StatefulSets that have orphans which a budget covers, as the
// caches show them. If a StatefulSet was created again, its labels may differ from those of its
// orphans.
func (o *Observer) orphanedZones(key plan.Key) map[string]bool {
	if key.Kind != plan.KindBudget {
		return nil
	}
	budget, exists := o.budget(key)
	if !exists {
		return nil
	}
	names := map[string]bool{}
	for _, r := range lookup[*podRecord](o.pods, byOrphaned, key.Namespace) {
		if covers(budget, r.pod) {
			names[r.parent()] = true
		}
	}
	return names
}

func covers(b group.DisruptionBudget, pod plan.Pod) bool {
	return len(group.Covering([]group.DisruptionBudget{b}, pod)) > 0
}

// firstCovering returns the key of the first budget that covers a pod.
func (o *Observer) firstCovering(namespace string, pod plan.Pod) (plan.Key, bool) {
	covering := group.Covering(o.budgetsOf(namespace), pod)
	if len(covering) == 0 {
		return plan.Key{}, false
	}
	return plan.Key{Namespace: namespace, Name: covering[0].Name, Kind: plan.KindBudget}, true
}

func (o *Observer) budget(key plan.Key) (group.DisruptionBudget, bool) {
	for _, b := range o.budgetsOf(key.Namespace) {
		if b.Name == key.Name {
			return b, true
		}
	}
	return group.DisruptionBudget{}, false
}

// coveredBy returns the keys of the budgets that select a StatefulSet without a group and whose
// Leases are held or have intents. If no such Lease exists or the namespace is not managed, it
// reads neither budgets nor labels.
func (o *Observer) coveredBy(r *zoneRecord) []plan.Key {
	if r.grouped || r.zone.Ignored || !o.Managed(r.namespace) {
		return nil
	}
	busy := o.busyLeases(r.namespace)
	if len(busy) == 0 {
		return nil
	}
	var keys []plan.Key
	concerns := concernOf(r.labels, r.podLabels)
	for _, b := range o.budgetsOf(r.namespace) {
		key := plan.Key{Namespace: r.namespace, Name: b.Name, Kind: plan.KindBudget}
		if busy[key] && concerns(b) {
			keys = append(keys, key)
		}
	}
	return keys
}

// busyLeases returns the keys of the budgets of a namespace whose Leases are held or have
// intents. A Lease that the cache does not show yet causes its own event.
func (o *Observer) busyLeases(namespace string) map[plan.Key]bool {
	busy := map[plan.Key]bool{}
	for _, key := range o.drainedLeases(namespace) {
		if o.holds.Busy(key) {
			busy[key] = true
		}
	}
	return busy
}

// drainedLeases returns the keys of the budgets of a namespace under whose Leases pods were
// evicted. A budget may no longer exist.
func (o *Observer) drainedLeases(namespace string) []plan.Key {
	var keys []plan.Key
	for _, held := range lookup[*coordinationv1.Lease](o.holds.Informer(), cache.NamespaceIndex, namespace) {
		if _, covered := held.Annotations[contract.NameAnnotation(plan.KindBudget)]; !covered {
			continue
		}
		if key, is := lease.KeyOf(held); is {
			keys = append(keys, key)
		}
	}
	return keys
}

// belongs reports whether a StatefulSet that was listed for a key is one of the StatefulSets of
// the key.
func (o *Observer) belongs(key plan.Key, set *appsv1.StatefulSet) bool {
	group, grouped := contract.Group(set.Labels, set.Annotations)
	switch {
	case key.Kind == plan.KindStatefulSet:
		return !grouped // it may have joined a group since
	case key.Kind != plan.KindBudget:
		return grouped && group == key.Name
	}
	budget, exists := o.budget(key)
	if !exists || contract.Ignored(set.Annotations) {
		return false
	}
	return concernOf(plan.LabelsOf(set.Labels), plan.LabelsOf(set.Spec.Template.Labels))(budget) || o.orphanedZones(key)[set.Name]
}
