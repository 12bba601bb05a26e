package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// longestRead limits a live read, however many requests it needs. During that time it occupies a
// worker, or delays a review.
const longestRead = time.Minute

// Live reads a group from the API server, within a minute: first its hold, then its StatefulSets
// and the pods that they select.
func (o *Observer) Live(ctx context.Context, key plan.Key) (group.Snapshot, error) {
	ctx, stop := context.WithTimeout(ctx, longestRead)
	defer stop()
	held, err := o.holds.Read(ctx, key)
	if err != nil {
		return group.Snapshot{}, err
	}
	return o.LiveUnder(ctx, key, group.HoldOf(held))
}

// readsUntilConfirmed limits how often a group is read until its StatefulSets confirm that they
// do not want a pod that was deleted.
const readsUntilConfirmed = 3

// LiveUnder reads the StatefulSets and pods of a group from the API server, within a minute. Each
// list is consistent. The lists have no order unless the hold records a downscale. The caller
// read the hold before. A decision under it requires its compare-and-swap, which fails if the
// hold has changed since (ADR 13).
//
// If a pod with an intent was deleted and the StatefulSets of the snapshot do not want it, they
// were listed again after the pods and still did not want it (ADR 24).
func (o *Observer) LiveUnder(ctx context.Context, key plan.Key, held group.Hold) (group.Snapshot, error) {
	ctx, stop := context.WithTimeout(ctx, longestRead)
	defer stop()
	for range readsUntilConfirmed {
		s, err := o.readGroup(ctx, key, held)
		if errors.Is(err, errZoneIsBack) || errors.Is(err, errZoneIsNew) {
			continue
		}
		if err != nil {
			return group.Snapshot{}, err
		}
		confirmed, err := o.stillUnwanted(ctx, &s)
		if err != nil {
			return group.Snapshot{}, err
		}
		if confirmed {
			return s, nil
		}
	}
	return group.Snapshot{}, fmt.Errorf("read %s: a StatefulSet joined it, was created again, or changed spec.replicas, during each of %d reads", key, readsUntilConfirmed)
}

// stillUnwanted lists the StatefulSets again and reports whether they still do not want the deleted
// pods with intents. The list in the snapshot may be older than the list of the pods.
func (o *Observer) stillUnwanted(ctx context.Context, s *group.Snapshot) (bool, error) {
	deleted := s.DeletedAndUnwanted()
	if len(deleted) == 0 {
		return true, nil
	}
	sets, err := o.liveSets(ctx, s.Key, s.Hold.Members)
	if err != nil {
		return false, err
	}
	var listed []group.Zone
	for i := range sets.Items {
		listed = append(listed, zoneOf(&sets.Items[i]))
	}
	return !group.WantAgain(deleted, listed), nil
}

func (o *Observer) readGroup(ctx context.Context, key plan.Key, held group.Hold) (group.Snapshot, error) {
	expected := o.cachedSelectors(key)
	if !held.Downscale.None() {
		expected = nil // the pods must be listed after the zone: otherwise they cannot show that a downscale has ended
	}
	sets, pods, err := o.liveGroup(ctx, key, held.Members, expected)
	if err != nil {
		return group.Snapshot{}, err
	}
	s := group.Snapshot{Key: key, Live: true, Hold: held, ZonesAt: versionOf(sets)}
	for i := range sets.Items {
		z := o.mirror(key, zoneOf(&sets.Items[i]))
		_, grouped := contract.Group(sets.Items[i].Labels, sets.Items[i].Annotations)
		z.Elsewhere = key.Kind == plan.KindBudget && grouped
		if z.Orphans, err = o.liveOrphans(ctx, key.Namespace, &z); err != nil {
			return group.Snapshot{}, err
		}
		seen := pods[selectorOf(&sets.Items[i])]
		if seen.showsLater(&z, s.ZonesAt) {
			return group.Snapshot{}, errZoneIsNew
		}
		z.Pods, z.PodsAt = append(ownOrphans(&z, seen.orphans), seen.of[z.UID]...), seen.at
		if i == 0 || seen.at < s.PodsAt {
			s.PodsAt = seen.at
		}
		s.Zones = append(s.Zones, z)
	}
	if err := o.liveLeft(ctx, &s); err != nil {
		return group.Snapshot{}, err
	}
	if err := o.liveStrays(ctx, &s); err != nil {
		return group.Snapshot{}, err
	}
	s.Now = o.now()
	arrange(&s)
	o.fill(&s)
	return s, nil
}

// errZoneIsNew is the error of a read during which a StatefulSet was created again. The group must be read again: the
// pods belong to the new StatefulSet, so the former one seems to have none.
var errZoneIsNew = errors.New("a StatefulSet was created again")

// showsLater reports whether a list of pods shows a pod of a later StatefulSet with the name of a zone: the pod was
// created or adopted after the StatefulSets were listed.
func (l *podList) showsLater(z *group.Zone, listed plan.Version) bool {
	for owner, pods := range l.of {
		later := func(p plan.Pod) bool {
			parent, _, _ := plan.ParentOf(p.Name)
			return parent == z.Name && p.Version > listed
		}
		if owner != z.UID && slices.ContainsFunc(pods, later) {
			return true
		}
	}
	return false
}

// liveGroup lists the StatefulSets and, at the same time, the pods that the expected selectors
// select. Then it lists the pods of selectors that were not expected.
func (o *Observer) liveGroup(ctx context.Context, key plan.Key, members []group.Member, expected []string) (*appsv1.StatefulSetList, map[string]podList, error) {
	var sets *appsv1.StatefulSetList
	var pods map[string]podList
	var ofSets, ofPods error
	parallel.All(
		func() { sets, ofSets = o.liveSets(ctx, key, members) },
		func() { pods, ofPods = o.livePods(ctx, key, expected) },
	)
	if err := errors.Join(ofSets, ofPods); err != nil {
		return nil, nil, err
	}
	var unread []string
	for i := range sets.Items {
		selector := selectorOf(&sets.Items[i])
		if _, read := pods[selector]; !read {
			unread = append(unread, selector)
		}
	}
	more, err := o.livePods(ctx, key, unread)
	maps.Copy(pods, more)
	return sets, pods, err
}

// liveSets reads the StatefulSets of a key: first those that its selector finds, then, by name,
// StatefulSets that an annotation may have put into the group.
func (o *Observer) liveSets(ctx context.Context, key plan.Key, members []group.Member) (*appsv1.StatefulSetList, error) {
	list, err := o.listSets(ctx, key)
	if err != nil {
		return nil, err
	}
	names := o.unlabelled(key, members, list.Items)
	sets, errs := make([]*appsv1.StatefulSet, len(names)), make([]error, len(names))
	parallel.Each(len(names), readsAtATime, func(i int) {
		sets[i], errs[i] = o.readSet(ctx, key.Namespace, names[i])
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	for _, set := range sets {
		if set != nil {
			list.Items = append(list.Items, *set)
		}
	}
	list.Items = slices.DeleteFunc(list.Items, func(set appsv1.StatefulSet) bool { return !o.belongs(key, &set) })
	return list, nil
}

func (o *Observer) listSets(ctx context.Context, key plan.Key) (*appsv1.StatefulSetList, error) {
	options, err := o.selecting(key)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	list, err := o.client.AppsV1().StatefulSets(key.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list StatefulSets of %s: %w", key, err)
	}
	return list, nil
}

// unlabelled returns the names of StatefulSets that may be in a group although their labels do
// not say so: StatefulSets that an annotation puts there according to the caches, and
// StatefulSets that the hold remembers.
func (o *Observer) unlabelled(key plan.Key, members []group.Member, listed []appsv1.StatefulSet) []string {
	if !key.Rolled() {
		return nil
	}
	names := map[string]bool{}
	for _, r := range o.zonesOf(key) {
		if r.annotated() {
			names[r.zone.Name] = true
		}
	}
	for _, m := range members {
		names[m.Zone] = true
	}
	for i := range listed {
		delete(names, listed[i].Name)
	}
	return slices.Sorted(maps.Keys(names))
}

// readSet reads a StatefulSet from the API server. It returns nil if the StatefulSet does not
// exist.
func (o *Observer) readSet(ctx context.Context, namespace, name string) (*appsv1.StatefulSet, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	set, err := o.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // a pointer says both
	}
	if err != nil {
		return nil, fmt.Errorf("read StatefulSet %s/%s: %w", namespace, name, err)
	}
	return set, nil
}

// selecting returns the options to list the StatefulSets of a group, as far as labels identify
// them.
func (o *Observer) selecting(key plan.Key) (metav1.ListOptions, error) {
	if key.Kind == plan.KindBudget || o.uncached && key.Kind != plan.KindStatefulSet {
		return metav1.ListOptions{}, nil // labels of pod templates, or annotations, decide
	}
	if key.Kind == plan.KindStatefulSet {
		return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()}, nil
	}
	inGroup, err := labels.NewRequirement(contract.GroupLabel, selection.Equals, []string{key.Name})
	if err != nil {
		return metav1.ListOptions{}, fmt.Errorf("select StatefulSets of %s: %w", key, err)
	}
	return metav1.ListOptions{LabelSelector: labels.NewSelector().Add(*inGroup).String()}, nil
}

func (o *Observer) cachedSelectors(key plan.Key) []string {
	var selectors []string
	for _, r := range o.zonesOf(key) {
		selectors = append(selectors, r.zone.Selector)
	}
	return selectors
}

// podList is the result of a list of pods.
type podList struct {
	of      map[string][]plan.Pod // by the UID of their StatefulSet
	orphans []plan.Pod
	at      plan.Version
}

// add adds a pod of a StatefulSet, or an orphan, after complete has completed it.
func (l *podList) add(pod *corev1.Pod, complete func(*plan.Pod)) {
	if owner, ordinal, owned := memberOf(pod); owned {
		member := PodOf(pod, ordinal)
		complete(&member)
		l.of[owner] = append(l.of[owner], member)
	} else if ordinal, orphaned := OrphanOf(pod); orphaned {
		orphan := PodOf(pod, ordinal)
		complete(&orphan)
		l.orphans = append(l.orphans, orphan)
	}
}

// readsAtATime limits the concurrent requests of one kind in one live read.
const readsAtATime = 10

// livePods lists the pods of several selectors. It sends as few requests as possible, all at the
// same time, because each may have to wait for the API server's own cache.
func (o *Observer) livePods(ctx context.Context, key plan.Key, selectors []string) (map[string]podList, error) {
	questions := merge(selectors)
	lists, errs := make([]podList, len(questions)), make([]error, len(questions))
	parallel.Each(len(questions), readsAtATime, func(i int) {
		lists[i], errs[i] = o.listPods(ctx, key, questions[i].selector)
	})
	shown := map[string]podList{}
	for i, q := range questions {
		for _, selector := range q.answers {
			shown[selector] = lists[i]
		}
	}
	return shown, errors.Join(errs...)
}

func (o *Observer) listPods(ctx context.Context, key plan.Key, selector string) (podList, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	list, err := o.client.CoreV1().Pods(key.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return podList{}, fmt.Errorf("list pods of %s: %w", key, err)
	}
	shown := podList{of: map[string][]plan.Pod{}, at: version(list.ResourceVersion)}
	for i := range list.Items {
		shown.add(&list.Items[i], func(pod *plan.Pod) { o.sight(key.Namespace, pod) })
	}
	return shown, nil
}

// liveStrays reads the pods with intents that no zone shows. Some do not exist any more; others
// belong to no StatefulSet.
func (o *Observer) liveStrays(ctx context.Context, s *group.Snapshot) error {
	names := strays(*s)
	pods, exist, errs := make([]plan.Pod, len(names)), make([]bool, len(names)), make([]error, len(names))
	parallel.Each(len(names), readsAtATime, func(i int) {
		pods[i], exist[i], errs[i] = o.livePod(ctx, s.Key.Namespace, names[i])
	})
	if err := cmp.Or(errs...); err != nil {
		return err // one error is enough: each pod with an intent may have its own
	}
	for i := range pods {
		if exist[i] {
			s.Strays = append(s.Strays, pods[i])
		}
	}
	if s.PodsAt == 0 { // no zone was listed; a pod that was read by name is current
		s.PodsAt = ^plan.Version(0)
	}
	return nil
}

func (o *Observer) livePod(ctx context.Context, namespace, name string) (plan.Pod, bool, error) {
	pod, exists, err := o.readPod(ctx, namespace, name)
	if err != nil || !exists {
		return plan.Pod{}, false, err
	}
	return keep(pod).view(), true, nil
}

func (o *Observer) readPod(ctx context.Context, namespace, name string) (*corev1.Pod, bool, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	pod, err := o.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read pod %s/%s: %w", namespace, name, err)
	}
	return pod, true, nil
}
