package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// absentMembers returns the zones that the hold remembers and the snapshot does not show.
func (o *Observer) absentMembers(s *group.Snapshot) []group.Member {
	var absent []group.Member
	for _, m := range s.Hold.Members {
		if _, shown := s.Zone(m.Zone); !shown {
			absent = append(absent, m)
		}
	}
	return append(absent, o.unremembered(s)...)
}

// unremembered returns the zones of orphans that a budget covers, if the zones have no StatefulSet and the hold does
// not remember them.
func (o *Observer) unremembered(s *group.Snapshot) []group.Member {
	var zones []group.Member
	for _, name := range slices.Sorted(maps.Keys(o.orphanedZones(s.Key))) {
		_, shown := s.Zone(name)
		_, exists := o.zone(s.Key.Namespace, name)
		if !shown && !exists && !slices.ContainsFunc(s.Hold.Members, func(m group.Member) bool { return m.Zone == name }) {
			zones = append(zones, group.Member{Zone: name})
		}
	}
	return zones
}

// cachedLeft returns the zones that left the group, as the caches show them.
func (o *Observer) cachedLeft(key plan.Key, s *group.Snapshot) []group.FormerZone {
	var left []group.FormerZone
	for _, m := range o.absentMembers(s) {
		left = append(left, o.cachedMember(key, m))
	}
	return left
}

// cachedMember returns a zone that a hold remembers and that its group does not have.
func (o *Observer) cachedMember(key plan.Key, m group.Member) group.FormerZone {
	z := group.FormerZone{Zone: group.Zone{Name: m.Zone, UID: m.UID}}
	set, exists := o.zone(key.Namespace, m.Zone)
	if exists {
		z.Zone, z.Exists = set.zone, true
		_, orphans := o.cachedPods(key.Namespace, &z.Zone)
		z.Orphans = inPlace(orphans)
	}
	for _, p := range inPodOrder(lookup[*podRecord](o.pods, byParent, key.Namespace+"/"+m.Zone)) {
		take(&z, p.record)
	}
	z.Uncovered = o.uncovered(key, set, &z.Zone)
	return z
}

// uncovered reports whether the Lease of a budget remembers a zone that the budget does not cover any more. Either
// the budget does not exist, or it selects neither an existing StatefulSet nor any of the pods and orphans. While
// budgets are not known, uncovered returns false.
func (o *Observer) uncovered(key plan.Key, set *zoneRecord, z *group.Zone) bool {
	if key.Kind != plan.KindBudget || !o.BudgetsKnown() {
		return false
	}
	budget, exists := o.budget(key)
	switch {
	case !exists:
		return true
	case set != nil && concernOf(set.labels, set.podLabels)(budget):
		return false
	}
	return !slices.ContainsFunc(slices.Concat(z.Pods, z.Orphans), func(p plan.Pod) bool { return covers(budget, p) })
}

// guarding returns the groups of a namespace whose holds guard a zone of that name that left them, as far as the
// caches show. Groups that have zones of their own come first.
func (o *Observer) guarding(namespace, zone string) []plan.Key {
	return slices.DeleteFunc(o.holds.Remembering(namespace, zone), func(key plan.Key) bool { return o.noLongerGuards(key, zone) })
}

// noLongerGuards reports whether a hold that remembers a zone does not guard it any more.
func (o *Observer) noLongerGuards(key plan.Key, zone string) bool {
	return key.Kind == plan.KindBudget && o.cachedMember(key, group.Member{Zone: zone}).Uncovered
}

// isBack reports whether a StatefulSet belongs again to a group that remembers it. StatefulSets that a budget covers
// may come and go at any time; the next event reads them again.
func (o *Observer) isBack(key plan.Key, set *appsv1.StatefulSet) bool {
	return key.Rolled() && o.belongs(key, set)
}

// errZoneIsBack is the error of a read during which a zone that had left joined the group again. The group must be
// read again.
var errZoneIsBack = errors.New("a StatefulSet that left the group is back")

// liveLeft reads the zones that left the group, and their pods, from the API server.
func (o *Observer) liveLeft(ctx context.Context, s *group.Snapshot) error {
	for _, m := range o.absentMembers(s) {
		z, err := o.readLeft(ctx, s.Key, m)
		if err != nil {
			return err
		}
		if m.UID != "" || len(z.Pods) > 0 {
			s.FormerZones = append(s.FormerZones, z)
		}
	}
	return nil
}

// readLeft lists the pods of a zone after it has found that the StatefulSet is outside the group or does not exist. A
// list from before could lack pods that were created since.
func (o *Observer) readLeft(ctx context.Context, key plan.Key, m group.Member) (group.FormerZone, error) {
	z := group.FormerZone{Zone: group.Zone{Name: m.Zone, UID: m.UID}}
	var record *zoneRecord
	switch set, err := o.readSet(ctx, key.Namespace, m.Zone); {
	case err != nil:
		return z, err
	case set != nil && o.isBack(key, set):
		return z, errZoneIsBack
	case set != nil:
		z.Zone, z.Exists, record = zoneOf(set), true, recordOf(set)
		if z.Orphans, err = o.liveOrphans(ctx, key.Namespace, &z.Zone); err != nil {
			return z, err
		}
	}
	var err error
	if z.PodsAt, err = o.eachPod(ctx, key.Namespace, candidates(&z), func(pod *corev1.Pod) {
		if r, is := keep(pod).(*podRecord); is && r.parent() == z.Name {
			take(&z, r)
		}
	}); err != nil {
		return z, fmt.Errorf("list pods of StatefulSet %s/%s, which left its group: %w", key.Namespace, m.Zone, err)
	}
	slices.SortFunc(z.Pods, func(a, b plan.Pod) int { return inOrder(a.Ordinal, b.Ordinal, a.Name, b.Name) })
	z.Uncovered = o.uncovered(key, record, &z.Zone)
	return z, nil
}

// candidates returns a selector that finds at least the pods of a zone that left. If its StatefulSet does not exist,
// its pods may be from before a change of its selector.
func candidates(z *group.FormerZone) string {
	if z.Exists {
		return z.Selector
	}
	return podNameLabel
}

// take adds a pod with a zone's name to a zone that left, if it counts as one of its pods. If the StatefulSet does
// not exist, these are the pods that a StatefulSet of that name controls, whatever its UID, and the pods without a
// controller. A pod that a controller of another kind has adopted is no podRecord and does not count.
func take(z *group.FormerZone, r *podRecord) {
	if z.Exists && !has(&z.Zone, r) || !z.Exists && !r.named() {
		return
	}
	z.Orphaned = z.Orphaned || r.orphaned()
	z.Pods = append(z.Pods, r.pod)
}

// eachPod lists pods in pages, because there may be many. All pages have the version that it returns.
func (o *Observer) eachPod(ctx context.Context, namespace, selector string, do func(*corev1.Pod)) (at plan.Version, err error) {
	list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
		defer stop()
		page, err := o.client.CoreV1().Pods(namespace).List(ctx, options)
		if err == nil {
			at = versionOf(page)
		}
		return page, err
	}))
	err = list.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(object runtime.Object) error {
		if pod, is := object.(*corev1.Pod); is {
			do(pod)
		}
		return nil
	})
	return at, err
}
