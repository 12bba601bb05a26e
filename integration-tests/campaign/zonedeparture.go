package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// otherGroupSuffix is the suffix of the group in which a zone is for a while.
const otherGroupSuffix = "-elsewhere"

// zonesAnnotation is the annotation of a group's Lease that contains its zones.
const zonesAnnotation = "lockstep.dev/zones"

// These count the zones that were removed from their group while a pod was down.
const (
	leftWithPodDown       = "zones that left with a pod down"
	leftWithOtherZoneDown = "zones that left beside a pod of another zone that was down"
)

// absenceKind is a way in which a zone is removed from its group and keeps its pods.
type absenceKind struct {
	kind  string // for the table
	words string
	leave func(ctx context.Context, t *trial, g group, zone string) error
	// back makes the zone return. Its StatefulSet had this UID before the removal.
	back func(ctx context.Context, t *trial, g group, zone string, uid types.UID) error
}

var (
	orphaned     = absenceKind{"zone orphaned and applied again", "is orphaned, and applied again", orphanZone, recreateZone}
	unlabelled   = absenceKind{"zone without its label", "has no group", setGroup(""), restoreGroup}
	inOtherGroup = absenceKind{"zone in another group", "is in another group", setGroup(otherGroupSuffix), restoreGroup}
)

// zoneDeparture removes a zone from its group for a while.
type zoneDeparture struct {
	absenceKind
	group   group
	zone    string
	away    time.Duration
	trigger int // one of the triggers below
}

// These are the triggers of a departure.
const (
	immediately = iota
	whenPodDown
	whenOtherZoneDown
)

// zoneDeparts removes a zone from its group for a while.
func zoneDeparts(random *rand.Rand, g group) fault {
	d := zoneDeparture{
		absenceKind: []absenceKind{orphaned, orphaned, unlabelled, inOtherGroup}[random.IntN(4)],
		group:       g, zone: g.zone(random.IntN(len(g.replicas))),
		away: between(random, 500*time.Millisecond, 8*time.Second), trigger: random.IntN(3),
	}
	f := fault{replica: -1, at: between(random, 500*time.Millisecond, 6*time.Second)}
	f.description = fmt.Sprintf("after %s zone %s leaves: it %s after %s", f.at, d.zone, d.words, d.away)
	f.description += [...]string{"", ", once a pod of it is down", ", once a pod of another zone is down"}[d.trigger]
	if d.kind == inOtherGroup.kind {
		f.movedGroup = g.name
	}
	f.run = func(ctx context.Context, t *trial, _ *replica) error { return d.run(ctx, t) }
	return f
}

// run removes the zone and lets it return.
func (d zoneDeparture) run(ctx context.Context, t *trial) error {
	if err := d.awaitRecorded(ctx, t); err != nil {
		if ctx.Err() == nil {
			t.failed(time.Now(), "a zone is not remembered after %s: %v", goalTimeout, err)
		}
		return err
	}
	d.awaitTrigger(ctx, t)
	podDown, otherDown := !t.state.zoneReady(d.zone), d.otherZoneDown(t)
	uid := t.state.uidOf(d.zone)
	if err := retry(ctx, "remove a zone from its group", func(ctx context.Context) error { return d.leave(ctx, t, d.group, d.zone) }); err != nil {
		return err
	}
	wait(ctx, d.away)
	if err := retry(ctx, "return a zone to its group", func(ctx context.Context) error { return d.back(ctx, t, d.group, d.zone, uid) }); err != nil {
		return err
	}
	t.count(d.kind)
	if podDown {
		t.count(leftWithPodDown)
	}
	if otherDown {
		t.count(leftWithOtherZoneDown)
	}
	return nil
}

// awaitRecorded waits until an operator has recorded the zone. Before, no operator can miss it.
func (d zoneDeparture) awaitRecorded(ctx context.Context, t *trial) error {
	ctx, cancel := context.WithTimeout(ctx, goalTimeout)
	defer cancel()
	return retry(ctx, "wait until the zone is remembered", func(context.Context) error { return t.state.checkRecorded(d.group, d.zone) })
}

// maxTriggerWait is how long a departure waits until a pod is down. Rollouts replace one zone after
// the other.
const maxTriggerWait = 2 * activePeriod

// awaitTrigger waits for the trigger of the departure, with a limit.
func (d zoneDeparture) awaitTrigger(ctx context.Context, t *trial) {
	waits := func() bool {
		switch d.trigger {
		case whenPodDown:
			return t.state.zoneReady(d.zone)
		case whenOtherZoneDown:
			return !d.otherZoneDown(t)
		}
		return false
	}
	for until := time.Now().Add(maxTriggerWait); waits() && time.Now().Before(until) && wait(ctx, 10*time.Millisecond); {
		continue
	}
}

// otherZoneDown reports whether a pod of another zone is down.
func (d zoneDeparture) otherZoneDown(t *trial) bool {
	for i := range d.group.replicas {
		if zone := d.group.zone(i); zone != d.zone && !t.state.zoneReady(zone) {
			return true
		}
	}
	return false
}

// orphanZone deletes the StatefulSet of a zone and keeps its pods.
func orphanZone(ctx context.Context, t *trial, _ group, zone string) error {
	err := t.client.AppsV1().StatefulSets(t.namespace).Delete(ctx, zone, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
	return ignoreMissing(err)
}

// recreateZone creates the StatefulSet of a zone as it was when it was deleted. It may exist already, if
// the answer to an earlier request was lost.
func recreateZone(ctx context.Context, t *trial, _ group, zone string, uid types.UID) error {
	if now := t.state.uidOf(zone); now != "" && now != uid {
		return nil
	}
	was := t.state.deletedSet(zone)
	if was == nil {
		return fmt.Errorf("StatefulSet %s is not deleted yet", zone)
	}
	recreated := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: was.Name, Labels: was.Labels, Annotations: was.Annotations}, Spec: was.Spec,
	}
	_, err := t.client.AppsV1().StatefulSets(t.namespace).Create(ctx, recreated, metav1.CreateOptions{})
	return ignoreExisting(err)
}

// setGroup returns a function that moves a zone to a group with another suffix, or removes the label.
// A zone moves only while no intent concerns one of its pods.
func setGroup(suffix string) func(context.Context, *trial, group, string) error {
	return func(ctx context.Context, t *trial, g group, zone string) error {
		if suffix == "" {
			return t.label(ctx, zone, "null")
		}
		if err := t.state.checkNoIntents(g, zone); err != nil {
			return err
		}
		return t.label(ctx, zone, fmt.Sprintf("%q", g.name+suffix))
	}
}

func restoreGroup(ctx context.Context, t *trial, g group, zone string, _ types.UID) error {
	if err := t.state.checkNoIntents(g.inOtherGroup(), zone); err != nil {
		return err
	}
	return t.label(ctx, zone, fmt.Sprintf("%q", g.name))
}

// inOtherGroup returns the group in which a zone is for a while, with the same budget.
func (g group) inOtherGroup() group {
	g.name += otherGroupSuffix
	return g
}

// label sets the group label of a zone to a JSON value.
func (t *trial) label(ctx context.Context, zone, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, groupLabel, value)
	_, err := t.client.AppsV1().StatefulSets(t.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// checkRecorded returns an error unless the Lease of a group contains the StatefulSet of a zone.
func (s *clusterState) checkRecorded(g group, zone string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	set, lease := s.sets[zone], s.leaseOf(g)
	if set == nil || lease == nil || !strings.Contains(lease.Annotations[zonesAnnotation], string(set.UID)) {
		return fmt.Errorf("group %s does not remember zone %s", g.name, zone)
	}
	return nil
}

// leaseOf returns the Lease of a group, or nil if there is none.
func (s *clusterState) leaseOf(g group) *coordinationv1.Lease {
	for _, l := range s.leases {
		if judge.HoldOf(l).Group == g.name {
			return l
		}
	}
	return nil
}

// zoneReady reports whether all pods of a zone are ready.
func (s *clusterState) zoneReady(zone string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.sets[zone]
	if set == nil {
		return false
	}
	for _, name := range judge.ZoneOf(set).Pods() {
		if pod := s.pods[name]; pod == nil || !judge.PodOf(pod).Serving() {
			return false
		}
	}
	return true
}

// uidOf returns the UID of the StatefulSet of a zone, or an empty string if there is none.
func (s *clusterState) uidOf(zone string) types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if set := s.sets[zone]; set != nil {
		return set.UID
	}
	return ""
}

// deletedSet returns the StatefulSet of a zone as it was when it was deleted, or nil if it exists.
func (s *clusterState) deletedSet(zone string) *appsv1.StatefulSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets[zone] != nil {
		return nil
	}
	return s.deleted[zone]
}

// checkNoIntents returns an error if the Lease of a group has a pending intent for a zone.
func (s *clusterState) checkNoIntents(g group, zone string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lease := s.leaseOf(g)
	if lease == nil {
		return nil
	}
	hold := judge.HoldOf(lease)
	for _, intent := range hold.Intents {
		pod := s.pods[intent.Pod]
		if strings.HasPrefix(intent.Pod, zone+"-") && pod != nil && string(pod.UID) == intent.UID && pod.DeletionTimestamp == nil {
			return fmt.Errorf("pod %s has a pending intent", intent.Pod)
		}
	}
	if hold.Downscale.Zone == zone {
		return errors.New("zone has a pending downscale")
	}
	return nil
}
