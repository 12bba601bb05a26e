package invariant

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// allowed is an eviction that was allowed, with the decision about the hold that precedes the answer, and
// what the snapshot shows of the pod.
type allowed struct {
	plan.EvictionRequest
	plan.EvictionAnswer
	decision decided
	zone     *zone
	pod      plan.Pod // the zero Pod if no zone shows it
	budget   group.DisruptionBudget
	covered  bool // the budget covers the pod
	known    bool // it is known which budget applies
}

// CheckEviction returns the first rule that an allowed eviction breaks, or nil.
func CheckEviction(s group.Snapshot, r plan.EvictionRequest, p plan.EvictionAnswer, decision hold.Decision) *Violation {
	if p.Because.Code != "" || decision.Need == hold.ReadLive {
		return nil
	}
	v := viewOf(&s)
	a := v.allowed(r, p, decision)
	for i := range rules {
		if detail := rules[i].brokenByEviction(v, a); detail != "" {
			return &Violation{Name: rules[i].Name, Detail: detail}
		}
	}
	return nil
}

func (v *view) allowed(r plan.EvictionRequest, p plan.EvictionAnswer, decision hold.Decision) *allowed {
	a := &allowed{EvictionRequest: r, EvictionAnswer: p, decision: decidedOf(decision)}
	a.zone, a.pod = v.podNamed(r.Pod)
	budgets := v.budgetsOf(a.pod)
	a.known = !v.Unread
	if a.covered = len(budgets) > 0; a.covered {
		a.budget = budgets[0]
		a.known = a.known && len(budgets) == 1 && a.budget.Invalid == ""
	}
	return a
}

// podNamed returns a pod and its zone, from the zones of the group or from those that left it.
func (v *view) podNamed(name string) (*zone, plan.Pod) {
	for i := range v.zones {
		if p, found := podIn(name, v.zones[i].Pods, v.zones[i].Orphans); found {
			return &v.zones[i], p
		}
	}
	for i := range v.FormerZones {
		if p, found := podIn(name, v.FormerZones[i].Pods, v.FormerZones[i].Orphans); found {
			return &zone{Zone: v.FormerZones[i].Zone}, p
		}
	}
	return &zone{}, plan.Pod{}
}

func podIn(name string, lists ...[]plan.Pod) (plan.Pod, bool) {
	for _, pods := range lists {
		for i := range pods {
			if pods[i].Name == name {
				return pods[i], true
			}
		}
	}
	return plan.Pod{}, false
}

// byPartition reports whether the budget of the pod counts partitions.
func (a *allowed) byPartition() bool { return a.budget.Partition != nil }

func (r *Rule) brokenByEviction(v *view, a *allowed) string {
	if r.evicts != nil {
		return r.evicts(v, a)
	}
	return r.broken(v, nil, &a.decision)
}

// grants makes a rule from a check of evictions of pods that are up.
func grants(broken func(*view, *allowed) string) func(*view, *allowed) string {
	return func(v *view, a *allowed) string {
		if !up(a.pod) {
			return ""
		}
		return broken(v, a)
	}
}

func breaksGrantAlone(v *view, a *allowed) string {
	if d := v.Hold.Downscale; d.Zone != "" && (a.byPartition() || d.Zone != a.zone.Name) && a.decision.Record.Downscale.Zone == d.Zone {
		return fmt.Sprintf("%s is granted beside the downscale of %s", a.Pod, d)
	}
	for _, i := range v.counting {
		if beside := i.Zone != a.zone.Name; a.byPartition() && i.Partition == "" || !a.byPartition() && beside {
			return fmt.Sprintf("%s is granted while %s of zone %s is recorded", a.Pod, i.Pod, i.Zone)
		}
	}
	if h := v.Hold.Holder; h != "" && !a.under(h) && !(v.Live && (v.leavesHold(h) || a.inTheWay() && v.leavesHoldToOrphans(h))) {
		return fmt.Sprintf("%s is granted over %s", a.Pod, h)
	}
	return ""
}

// under reports whether the eviction may happen under a holder: an operation in the zone of the pod or, if
// the budget counts partitions, evictions by partitions.
func (a *allowed) under(h plan.Holder) bool {
	if a.byPartition() {
		return h == byPartitions
	}
	at, ours := operationIn(h)
	return ours && at == a.zone.Name
}

func breaksGrantRecorded(_ *view, a *allowed) string {
	record := &a.decision.Record
	if a.decision.Need != hold.Write || !a.under(record.Holder) {
		return fmt.Sprintf("%s may go under the hold of %q", a.Pod, record.Holder)
	}
	if !keepsGrant(record, a.Pod, a.pod.UID) {
		return fmt.Sprintf("%s may be evicted and is not recorded", a.Pod)
	}
	return ""
}

// keepsGrant reports whether a record has the intent of a granted eviction of a pod.
func keepsGrant(record *group.Hold, pod, uid string) bool {
	return slices.ContainsFunc(record.Intents, func(i plan.Intent) bool { return i.Pod == pod && i.UID == uid && isGrant(i) })
}

// breaksGrantKept returns a granted eviction that the decision drops while its intent counts. An intent of
// the pod's successor may replace it.
func breaksGrantKept(v *view, _ []plan.Action, decision *decided) string {
	if decision.Need != hold.Write && decision.Need != hold.Remove {
		return ""
	}
	for _, i := range v.counting {
		anew := slices.ContainsFunc(decision.Record.Intents, func(next plan.Intent) bool { return next.Pod == i.Pod })
		replaced := anew && succeeds(v.recorded[i.Pod], i)
		if isGrant(i) && !replaced && !keepsGrant(&decision.Record, i.Pod, i.UID) {
			return fmt.Sprintf("the eviction of %s is not recorded any more, and may still happen", i.Pod)
		}
	}
	return ""
}

func breaksGrantSparesOtherZones(v *view, a *allowed) string {
	if z, found := v.notSpared(a); found {
		return fmt.Sprintf("%s may go while zone %s has %d of %d pods available", a.Pod, z.Name, len(v.availableOf(z)), z.Replicas)
	}
	return ""
}

// notSpared returns a zone whose unavailable pods forbid the eviction. If the budget counts partitions, other
// zones are checked by partition instead. An orphan in the way may be evicted while orphans serve in place of
// all missing pods of another zone, also of one that left the group.
func (v *view) notSpared(a *allowed) (z *zone, found bool) {
	if z, found = v.leftUnavailable(a.inTheWay()); found || a.byPartition() {
		return z, found
	}
	for i := range v.zones {
		z := &v.zones[i]
		if z.Name != a.zone.Name && !v.allAvailable(z) && !(a.inTheWay() && v.isServedByOrphans(z)) {
			return z, true
		}
	}
	return nil, false
}

// inTheWay reports whether the evicted pod is an orphan that has the name of a desired pod.
func (a *allowed) inTheWay() bool {
	_, orphan := podIn(a.Pod, a.zone.Orphans)
	return orphan && a.zone.asksForPod(a.Pod)
}

func breaksGrantWithinBudget(v *view, a *allowed) string {
	limit := unavailableLimit(a.zone)
	switch {
	case !a.known:
		return fmt.Sprintf("%s may go, and which budget counts is not known", a.Pod)
	case a.covered:
		limit = limitOf(a.budget, a.zone)
	}
	if down := v.downWithEviction(a); limit == 0 || down > limit {
		return fmt.Sprintf("%s may go, with %d down of at most %d", a.Pod, down, limit)
	}
	return ""
}

// downWithEviction counts the pods that are down together with the evicted one: in its zone, or in its
// partition if the budget counts partitions.
func (v *view) downWithEviction(a *allowed) int {
	if a.byPartition() && len(v.zones) > 1 {
		return 1 + v.downInPartition(a, partitionOf(a.budget, a.Pod))
	}
	down := v.downWith(a.zone, a.pod.Ordinal)
	if _, orphan := podIn(a.Pod, a.zone.Orphans); orphan {
		down -= v.servedByOtherOrphans(a.zone, a.Pod)
	}
	return down
}

// servedByOtherOrphans returns how many desired pods of a zone are missing while orphans with their names are
// up. It ignores the named orphan and orphans with intents.
func (v *view) servedByOtherOrphans(z *zone, name string) int {
	served, recorded := 0, v.recordedOf(z)
	for _, p := range z.Orphans {
		if p.Name != name && up(p) && z.asksFor(p.Ordinal) && !slices.Contains(recorded, p.Ordinal) {
			served++
		}
	}
	return served
}

func breaksExactGrant(_ *view, a *allowed) string {
	p, record := a.pod, a.EvictionAnswer.Record
	exact := a.UID == p.UID && p.Name != ""
	if record.Pod == "" {
		exact = exact && !up(p) && (a.EvictionAnswer.Version == p.Version || terminating(p)) // a terminating pod never becomes Ready again
	} else {
		exact = exact && up(p) && record.Pod == p.Name && record.UID == p.UID && record.Version == p.Version && record.Zone == a.zone.Name && isGrant(record)
		if _, orphan := podIn(a.Pod, a.zone.Orphans); orphan {
			exact = exact && a.EvictionAnswer.Version == p.Version // at another version it may be a pod of its zone
		}
	}
	if !exact {
		return fmt.Sprintf("%s (%s) may go as %+v, and %s at %d is shown, up: %t", a.Pod, a.UID, a.EvictionAnswer, p.UID, p.Version, up(p))
	}
	return ""
}
