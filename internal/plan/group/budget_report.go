package group

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// BudgetReport is what users see of a budget for evictions: what it covers, and how many evictions
// it allows now.
type BudgetReport struct {
	Groups     []string     // covered groups, in natural order
	Rivals     []string     // other budgets that cover some of the same pods, in natural order
	Zones      []BudgetPart // in natural order
	Partitions []BudgetPart // if the budget counts by partitions, in natural order
	Allowed    int          // evictions that would be granted now, one after the other; fewer if another operation waits
	Until      time.Time    // when more may be allowed without an event; zero: unknown
}

// BudgetPart is the report about a zone or a partition.
type BudgetPart struct {
	Name        string
	Pods        int // that should exist
	Unavailable int // of these, the ones that are missing, not available or recorded
	Allowed     int // evictions that would be granted here now
}

// Ungrouped is used as the name of a group in a BudgetReport if the budget covers StatefulSets
// without a group.
const Ungrouped = "StatefulSets without a group"

// ReportBudgets reports the budgets of a namespace over all of its groups. It uses the guards of
// evictions.
func ReportBudgets(budgets []DisruptionBudget, groups []Snapshot) []BudgetReport {
	reports := make([]BudgetReport, len(budgets))
	for _, s := range groups {
		s.Budgets = budgets
		b := newGroupState(s)
		for i, r := range b.reaches() {
			reports[i].add(b.budgetReport(r))
		}
	}
	return reports
}

// reach is the part of a group that a budget covers.
type reach struct {
	budget DisruptionBudget
	rivals map[string]bool
	pods   [][]plan.Pod // covered pods, zone by zone
}

// reaches returns the budgets that cover pods of the group, by their index.
func (b *groupState) reaches() map[int32]*reach {
	all := map[int32]*reach{}
	for zone, z := range b.zoneStates {
		if z.Elsewhere {
			continue
		}
		for _, pod := range z.Pods {
			covering := b.covers.of(pod)
			for _, i := range covering {
				if b.Key.Kind == plan.KindBudget && b.Budgets[i].Name != b.Key.Name {
					continue
				}
				r := all[i]
				if r == nil {
					r = &reach{budget: b.Budgets[i], rivals: map[string]bool{}, pods: make([][]plan.Pod, len(b.zoneStates))}
					all[i] = r
				}
				r.pods[zone] = append(r.pods[zone], pod)
				for _, other := range covering {
					if other != i {
						r.rivals[b.Budgets[other].Name] = true
					}
				}
			}
		}
	}
	return all
}

// covers reports whether the budget covers a zone. A zone of the group without pods counts as
// covered.
func (r *reach) covers(zone int, z *zoneState) bool {
	return len(r.pods[zone]) > 0 || (len(z.Pods) == 0 && !z.Elsewhere)
}

func (b *groupState) budgetReport(r *reach) BudgetReport {
	report := BudgetReport{Groups: []string{b.Key.Name}, Rivals: slices.Collect(maps.Keys(r.rivals))}
	if b.Key.Kind == plan.KindBudget {
		report.Groups = []string{Ungrouped}
	}
	var index partitionIndex
	if r.budget.ByPartition() {
		index = b.indexCovered(r)
	}
	for zone, z := range b.zoneStates {
		if !r.covers(zone, z) {
			continue
		}
		part := b.zonePart(z, r.pods[zone])
		var until time.Time
		part.Allowed, until = b.grants(zone, r.pods[zone], index)
		report.Until = earlier(report.Until, until)
		report.Zones = append(report.Zones, part)
		report.Allowed = max(report.Allowed, part.Allowed) // in one zone at a time
	}
	if index != nil {
		report.Partitions = b.partitionParts(index)
	}
	if index != nil && len(b.zoneStates) > 1 {
		report.Allowed = min(sumAllowed(report.Partitions), max(0, plan.MaxIntents-b.intentCount)) // in all zones together
	}
	return report
}

func sumAllowed(parts []BudgetPart) (sum int) {
	for _, part := range parts {
		sum += part.Allowed
	}
	return sum
}

// zonePart counts the pods of a zone that a budget covers. It counts missing pods as covered.
func (b *groupState) zonePart(z *zoneState, pods []plan.Pod) BudgetPart {
	part := BudgetPart{Name: z.Name, Pods: z.missing, Unavailable: z.missing}
	for _, pod := range pods {
		if !z.Owns(pod.Ordinal) {
			continue
		}
		part.Pods++
		if b.isDown(z, pod) {
			part.Unavailable++
		}
	}
	return part
}

func (b *groupState) isDown(z *zoneState, pod plan.Pod) bool {
	intent, recorded := b.activeIntents[pod.Name]
	return !b.unavailable(z.Zone, pod, intent, recorded).None()
}

// grants counts how many of these pods of a zone could be evicted one after the other, and returns
// when more could be.
func (b *groupState) grants(zone int, pods []plan.Pod, index partitionIndex) (n int, until time.Time) {
	z, recorded := *b.zoneStates[zone], b.intentCount
	defer func() { b.intentCount = recorded }()
	for _, pod := range pods {
		e := b.eviction(&z, pod)
		if index != nil {
			e.elsewhere = elsewhere(e.partition, index[e.partition], zone)
		}
		granted, later := b.grant(e)
		until = earlier(until, later)
		if granted {
			n++
			z.countAsDown(e)
		}
	}
	return n, until
}

// countAsDown counts the pod of an eviction as down.
func (z *zoneState) countAsDown(e eviction) {
	if !e.alreadyDown {
		z.down++
		z.blame(plan.Refusal{Code: reason.PodDisruptionPending, Pod: e.pod.Name})
	}
}

// grant reports whether a pod that is up could be evicted, and then counts the pod as recorded.
// Otherwise it returns when the pod could be evicted.
func (b *groupState) grant(e eviction) (granted bool, later time.Time) {
	if !e.pod.Up() {
		return false, time.Time{}
	}
	if objection := b.mayEvict(e); !objection.None() {
		return false, b.ahead(objection.Until)
	}
	if !e.hasIntent {
		b.intentCount++
	}
	return true, time.Time{}
}

// add adds the report about another group.
func (r *BudgetReport) add(other BudgetReport) {
	r.Groups = natural(append(r.Groups, other.Groups...))
	r.Rivals = natural(append(r.Rivals, other.Rivals...))
	r.Zones = sumParts(append(r.Zones, other.Zones...))
	r.Partitions = sumParts(append(r.Partitions, other.Partitions...))
	r.Allowed += other.Allowed
	r.Until = earlier(r.Until, other.Until)
}

func natural(names []string) []string {
	slices.SortFunc(names, plan.CompareNatural)
	return slices.Compact(names)
}

// sumParts adds up the parts with the same name.
func sumParts(parts []BudgetPart) []BudgetPart {
	slices.SortStableFunc(parts, func(a, b BudgetPart) int {
		return cmp.Or(plan.CompareNatural(a.Name, b.Name), cmp.Compare(a.Name, b.Name))
	})
	var sums []BudgetPart
	for _, part := range parts {
		last := len(sums) - 1
		if last < 0 || sums[last].Name != part.Name {
			sums = append(sums, part)
			continue
		}
		sums[last].Pods += part.Pods
		sums[last].Unavailable += part.Unavailable
		sums[last].Allowed += part.Allowed
	}
	return sums
}
