package invariant

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// allowed is an eviction that was allowed, and what the hold says before the yes.
type allowed struct {
	plan.EvictionRequest
	plan.EvictionAnswer
	decision hold.Decision
}

// CheckEviction returns the first rule that an allowed eviction breaks, or nil.
func CheckEviction(s plan.Snapshot, r plan.EvictionRequest, p plan.EvictionAnswer, decision hold.Decision) *Violation {
	if !p.Allowed() || decision.Need == hold.Look {
		return nil
	}
	for _, rule := range rules {
		if detail := rule.brokenByEviction(&s, allowed{r, p, decision}); detail != "" {
			return &Violation{Name: rule.Name, Detail: detail}
		}
	}
	return nil
}

func (r Rule) brokenByEviction(s *plan.Snapshot, a allowed) string {
	if r.evicts != nil {
		return r.evicts(s, a)
	}
	return r.broken(s, nil, &a.decision)
}

// grants makes a rule of what must be true of evictions that take down a pod that is
// up.
func grants(broken func(*plan.Snapshot, *plan.Zone, allowed) string) func(*plan.Snapshot, allowed) string {
	return func(s *plan.Snapshot, a allowed) string {
		z, p := find(s, a.Pod)
		if !p.Up() {
			return ""
		}
		return broken(s, z, a)
	}
}

func find(s *plan.Snapshot, pod string) (*plan.Zone, plan.Pod) {
	for i := range s.Zones {
		z := &s.Zones[i]
		for _, p := range z.Pods {
			if p.Name == pod {
				return z, p
			}
		}
	}
	return &plan.Zone{}, plan.Pod{}
}

// budgetOf finds the budget that covers a pod, if one does, and reports whether it is
// clear what it allows.
func budgetOf(s *plan.Snapshot, p plan.Pod) (budget plan.DisruptionBudget, covered, known bool) {
	all := budgetsOf(s, p)
	if len(all) == 0 {
		return plan.DisruptionBudget{}, false, !s.Unread
	}
	return all[0], true, len(all) == 1 && all[0].Invalid == "" && !s.Unread
}

func budgetsOf(s *plan.Snapshot, p plan.Pod) []plan.DisruptionBudget {
	if len(s.Budgets) == 0 {
		return nil
	}
	labels := p.Labels.Map()
	maps.Copy(labels, map[string]string{
		"statefulset.kubernetes.io/pod-name": p.Name, "apps.kubernetes.io/pod-index": strconv.Itoa(p.Ordinal), "controller-revision-hash": p.Revision,
	})
	var all []plan.DisruptionBudget
	for _, b := range s.Budgets {
		if b.Selector.Matches(labels) {
			all = append(all, b)
		}
	}
	return all
}

// leastBudget returns how many pods of a zone may be down where one of them is rolled:
// what the budgets of evictions allow that cover it, apart from those that allow none.
// Where budgets cannot be read one may cover it that allows one pod.
func leastBudget(s *plan.Snapshot, z *plan.Zone, ordinal int) int {
	if s.Unread {
		return 1
	}
	least := z.Replicas
	for _, p := range z.Pods {
		if p.Ordinal != ordinal {
			continue
		}
		for _, b := range budgetsOf(s, p) {
			limit := limitOf(b, z)
			if b.Invalid == "" && !b.ByPartition() && limit > 0 {
				least = min(least, limit)
			}
		}
	}
	return least
}

func limitOf(b plan.DisruptionBudget, z *plan.Zone) int {
	if b.Percentage > 0 {
		return max(1, int(int64(z.Replicas)*int64(b.Percentage)/100))
	}
	return b.Limit
}

func breaksGrantAlone(s *plan.Snapshot, z *plan.Zone, a allowed) string {
	h := s.Hold
	_, p := find(s, a.Pod)
	b, _, _ := budgetOf(s, p)
	apart := b.ByPartition()
	if d := h.Decrease; !d.None() && (apart || d.Zone != z.Name) && a.decision.Record.Decrease.Zone == d.Zone {
		return fmt.Sprintf("%s is granted beside the downscale of %s", a.Pod, d)
	}
	for _, i := range h.Intents {
		beside := i.Zone != z.Name
		if apart {
			beside = i.Partition == ""
		}
		if beside && s.Fate(i).Counts() {
			return fmt.Sprintf("%s is granted while %s of zone %s is noted", a.Pod, i.Pod, i.Zone)
		}
	}
	mine := h.Holder.Zone() == z.Name && !h.Holder.Foreign()
	if apart {
		mine = h.Holder == plan.Eviction.For(plan.Partitions)
	}
	if !h.Holder.Free() && !mine && !(s.Live && settled(s, h.Holder)) {
		return fmt.Sprintf("%s is granted over %s", a.Pod, h.Holder)
	}
	return ""
}

func breaksGrantNoted(s *plan.Snapshot, z *plan.Zone, a allowed) string {
	_, p := find(s, a.Pod)
	b, _, _ := budgetOf(s, p)
	holder := a.decision.Record.Holder
	under := holder.Zone() == z.Name && !holder.Foreign()
	if b.ByPartition() {
		under = holder == plan.Eviction.For(plan.Partitions)
	}
	if a.decision.Need != hold.Write || !under {
		return fmt.Sprintf("%s may go under the hold of %q", a.Pod, holder)
	}
	for _, i := range a.decision.Record.Intents {
		if i.Pod == a.Pod && i.UID == p.UID && i.Granted() {
			return ""
		}
	}
	return fmt.Sprintf("%s may go and is not noted", a.Pod)
}

// longestEviction is after how long nobody can carry out a granted eviction any more:
// the API server works on a request for 34 s at most, and a clock that counts them may go
// twice as fast as it should.
const longestEviction = 70 * time.Second

func breaksGrantKept(s *plan.Snapshot, _ []plan.Action, decision *hold.Decision) string {
	return droppedGrant(s, decision)
}

// droppedGrant finds a granted eviction that is taken off the record while it can
// still happen, or while its end has not been seen.
func droppedGrant(s *plan.Snapshot, decision *hold.Decision) string {
	if decision.Need != hold.Write && decision.Need != hold.Remove {
		return ""
	}
	for _, i := range s.Hold.Intents {
		if i.Granted() && !keeps(decision.Record, i) && !ended(s, i, decision.Record) {
			return fmt.Sprintf("the eviction of %s is not noted any more, and may still happen", i.Pod)
		}
	}
	return ""
}

func keeps(record plan.Hold, former plan.Intent) bool {
	for _, i := range record.Intents {
		if i.Pod == former.Pod && i.UID == former.UID && i.Granted() {
			return true
		}
	}
	return false
}

func ended(s *plan.Snapshot, i plan.Intent, record plan.Hold) bool {
	p, exists := s.Pod(i.Pod)
	z, _ := s.Zone(i.Zone)
	switch {
	case !exists && s.Live && s.PodsAt < i.Version:
		return true // no pod ever had that version: the Lease, or etcd, was restored
	case !exists:
		ordinal, is := plan.OrdinalOf(z.Name, i.Pod)
		return !(is && z.Owns(ordinal)) && s.PodsAt >= i.Version
	case p.UID == i.UID:
		return s.Live && i.Known >= longestEviction && p.Phase != plan.Leaving
	case s.Live && p.Version <= i.Version:
		return true // the same
	}
	for _, anew := range record.Intents {
		if anew.Pod == i.Pod && p.Version > i.Version {
			return true
		}
	}
	return p.Version > i.Version && p.Available(z.MinReady, s.Now)
}

func breaksGrantSparesTheRest(s *plan.Snapshot, z *plan.Zone, a allowed) string {
	_, p := find(s, a.Pod)
	if b, _, _ := budgetOf(s, p); b.ByPartition() {
		return "" // whoever is in the same one is counted
	}
	for i := range s.Zones {
		other := &s.Zones[i]
		if n := len(available(s, other)); other.Name != z.Name && n < other.Replicas {
			return fmt.Sprintf("%s may go while zone %s has %d of %d pods available", a.Pod, other.Name, n, other.Replicas)
		}
	}
	return ""
}

func breaksGrantWithinBudget(s *plan.Snapshot, z *plan.Zone, a allowed) string {
	_, p := find(s, a.Pod)
	b, covered, known := budgetOf(s, p)
	limit := z.MaxUnavailable.Of(z.Replicas)
	switch {
	case !known:
		return fmt.Sprintf("%s may go, and which budget counts is not known", a.Pod)
	case covered:
		limit = limitOf(b, z)
	}
	down := 1
	if b.ByPartition() && len(s.Zones) > 1 {
		partition, _ := b.PartitionOf(a.Pod)
		down += downInPartition(s, z, b, partition)
	} else {
		up := unnotedUp(s, z)
		delete(up, p.Ordinal)
		down = z.Replicas - len(up)
		if !z.Owns(p.Ordinal) {
			down = min(down, limit) // who is one too many costs nothing
		}
	}
	if limit == 0 || down > limit {
		return fmt.Sprintf("%s may go, with %d down of at most %d", a.Pod, down, limit)
	}
	return ""
}

// unnotedUp returns the ordinals that are available and that nobody is about to take
// down.
func unnotedUp(s *plan.Snapshot, z *plan.Zone) map[int]bool {
	up := available(s, z)
	for _, i := range s.Hold.Intents {
		if ordinal, is := plan.OrdinalOf(z.Name, i.Pod); is && s.Fate(i).Counts() {
			delete(up, ordinal)
		}
	}
	return up
}

// downInPartition counts the pods of a partition in other zones that are not there,
// or have not been Ready for long enough.
func downInPartition(s *plan.Snapshot, z *plan.Zone, b plan.DisruptionBudget, partition string) int {
	down := 0
	for i := range s.Zones {
		other := &s.Zones[i]
		if other.Name == z.Name {
			continue
		}
		up, of, exists := unnotedUp(s, other), 0, map[int]bool{}
		for _, p := range other.Pods {
			exists[p.Ordinal] = true
			if in, _ := b.PartitionOf(p.Name); in != partition {
				continue
			}
			of++
			rested := b.Delay <= 0 || !s.Now.Before(p.ReadySince.Add(b.Delay))
			if !other.Owns(p.Ordinal) || !up[p.Ordinal] || !rested {
				down++
			}
		}
		missing := missingInPartition(other, exists, b, partition)
		if of+missing == 0 {
			missing = 1
		}
		down += missing
	}
	return down
}

// mostMissing is how many pods of a zone are looked at that do not exist.
const mostMissing = 1000

// missingInPartition counts the pods of a partition that a zone should have and has
// not. Of those that are too many to look at, one counts.
func missingInPartition(z *plan.Zone, exists map[int]bool, b plan.DisruptionBudget, partition string) int {
	missing, seen := 0, 0
	for ordinal := z.Start; ordinal-z.Start < z.Replicas; ordinal++ {
		if exists[ordinal] {
			continue
		}
		if seen++; seen > mostMissing {
			return missing + 1
		}
		if in, _ := b.PartitionOf(plan.PodName(z.Name, ordinal)); in == partition {
			missing++
		}
	}
	return missing
}

func breaksExactGrant(s *plan.Snapshot, a allowed) string {
	z, p := find(s, a.Pod)
	note := a.EvictionAnswer.Note
	exact := a.UID == p.UID && p.Name != ""
	switch {
	case !a.NeedsNote():
		never := p.Phase == plan.Leaving // it never serves again
		exact = exact && !p.Up() && (a.EvictionAnswer.Version == p.Version || never)
	default:
		exact = exact && p.Up() && note.Pod == p.Name && note.UID == p.UID && note.Version == p.Version && note.Zone == z.Name && note.Granted()
	}
	if !exact {
		return fmt.Sprintf("%s (%s) may go as %+v, and %s at %d is shown, up: %t", a.Pod, a.UID, a.EvictionAnswer, p.UID, p.Version, p.Up())
	}
	return ""
}
