package apiserver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

const zonesAnnotation = "lockstep.dev/zones"

func (s *scene) never(what string, lasting time.Duration, ask func() error) {
	s.t.Helper()
	var last error
	for end := time.Now().Add(lasting); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if last = ask(); last == nil {
			s.t.Fatalf("%s was granted\n%s", what, s.describe())
		}
	}
	s.t.Logf("%s: refused to the end: %v", what, last)
}

func (s *scene) remembers(lease, text string) {
	s.t.Helper()
	s.eventually("Lease "+lease+" remembers "+text, func(now present) error {
		l := now.leases[lease]
		if l == nil || !strings.Contains(l.Annotations[zonesAnnotation], text) {
			return errors.New("not yet")
		}
		return nil
	})
}

func (s *scene) setIsDeleted(name string) {
	s.t.Helper()
	s.eventually(name+" is deleted", func(now present) error {
		_, err := s.world.admin.AppsV1().StatefulSets(s.name).Get(s.t.Context(), name, getOptions)
		if !apierrors.IsNotFound(err) {
			return errors.New("not yet")
		}
		return nil
	})
}

// A StatefulSet is orphaned, applied with a selector that does not match its pods, and orphaned
// again. Meanwhile a pod of another zone is down, so lockstep reads the group live.
func TestOrphansOfAFormerSelectorBlockTheOthers(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2, gated()), zone("zone-b", 2, gated()))
	e.gate("zone-a-1", corev1.ConditionFalse)
	e.isBroken("zone-a-1")
	apply := e.orphans("zone-a")
	sets := e.world.admin.AppsV1().StatefulSets(e.name)
	made, err := sets.Create(t.Context(), zone("zone-a", 2, gated(), podLabels(map[string]string{"zone": "typo"})), createOptions)
	if err != nil {
		t.Fatal(err)
	}
	e.remembers(theLease, string(made.UID))
	if err := sets.Delete(t.Context(), "zone-a", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}); err != nil {
		t.Fatal(err)
	}
	e.setIsDeleted("zone-a")
	e.gate("zone-b-1", corev1.ConditionFalse)
	e.isBroken("zone-b-1")
	e.change("zone-b", version(2), gateless())
	e.spares("zone-b-0 serves while zone-a is outside of its group and its orphans exist, one of them down", 10*time.Second, "zone-b-0")
	apply()
	e.gate("zone-a-1", corev1.ConditionTrue)
	e.settled()
}

// The record of zones in the Lease cannot be read, or has a newer version.
func TestOrphansAreGuardedWhileTheRememberedZonesAreUnreadable(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"garbage": "zone-a and zone-b", "newer": `{"version":2,"zones":[{"zone":"zone-a","uid":"u","selector":"zone=zone-a","more":1}]}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evictions(t)
			e.createOpen(zone("zone-a", 2), zone("zone-b", 2, gated()))
			e.mayEvict("zone-b-0")
			if err := e.evict("zone-b-0"); err != nil {
				t.Fatal(err)
			}
			e.isBroken("zone-b-0")
			e.editLease(func(l *coordinationv1.Lease) { l.Annotations[zonesAnnotation] = text })
			e.never("the eviction of zone-a-0 while zone-b-0 is down", time.Second, func() error { return e.evict("zone-a-0") })
			e.orphans("zone-a")
			e.never("the eviction of orphaned zone-a-0 while zone-b-0 is down", 8*time.Second, func() error { return e.evict("zone-a-0") })
		})
	}
}

// The Lease loses its label, and a zone is orphaned.
func TestOrphansAreGuardedWhileTheLeaseHasNoLabel(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2), zone("zone-b", 2, gated()))
	before := e.pod("zone-b-0")
	e.mayEvict("zone-b-0")
	if err := e.evict("zone-b-0"); err != nil {
		t.Fatal(err)
	}
	e.isBroken("zone-b-0")
	e.refused(e.evict("zone-a-0"), "zone-a is refused (")
	e.editLease(func(l *coordinationv1.Lease) { delete(l.Labels, holdLabel) })
	apply := e.orphans("zone-a")
	e.never("the eviction of orphaned zone-a-0 while zone-b-0 is down", 8*time.Second, func() error { return e.evict("zone-a-0") })
	apply()
	e.opens(before)
	e.settled()
}

// The Lease remembers a zone that a replica has not observed yet, and the zone is orphaned.
func TestAReplicaThatSeesLeasesLateGuardsOrphans(t *testing.T) {
	t.Parallel()
	e := answeredLate(t, "leases", 15*time.Second)

	e.create(zone("zone-a", 2))
	e.begin(zone("zone-b", 1))
	e.remembers(theLease, "zone-b")
	e.eventually("zone-b-0 serves", func(now present) error {
		if p := now.pods["zone-b-0"]; p == nil || !isReady(p) {
			return errors.New("not yet")
		}
		return nil
	})
	e.change("zone-a", version(2), gated(), readyAfter(time.Minute))
	e.awaitDeletion("zone-a-0")
	e.orphans("zone-b")
	e.never("the eviction of orphaned zone-b-0 while zone-a-0 is down", 10*time.Second, func() error { return e.evicts(t.Context(), "zone-b-0", nil) })
}

// An unavailable zone is removed from its group, and a budget that covers its pods allows
// more disruptions. A replica that has not observed the hold of the group yet has observed
// the budget.
func TestAReplicaThatSeesLeasesLateGuardsPodsOfAFormerZoneUnderABudget(t *testing.T) {
	t.Parallel()
	for name, departs := range map[string]func(e *drainable){
		"orphaned":      func(e *drainable) { e.orphans("zone-b") },
		"without label": func(e *drainable) { e.change("zone-b", regrouped("")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := answeredLate(t, "leases", 30*time.Second)
			e.create(zone("zone-a", 2))
			e.begin(zone("zone-b", 2, covers, gated()))
			e.serve("zone-b-0", "zone-b-1")
			e.remembers(theLease, "zone-b")
			e.change("zone-a", version(2), gated(), readyAfter(time.Minute))
			e.awaitDeletion("zone-a-0")
			e.gate("zone-b-1", corev1.ConditionFalse)
			e.isBroken("zone-b-1")
			if err := e.budget("cache", `{"selector":{"matchLabels":{"app":"cache"}},"maxUnavailable":2}`); err != nil {
				t.Fatal(err)
			}
			departs(e)
			e.never("the eviction of zone-b-0 while zone-a-0 is down", 10*time.Second, func() error { return e.evicts(t.Context(), "zone-b-0", nil) })
		})
	}
}

// A budget covered the pods of a zone before the zone joined its group, so two Leases remember it.
func TestAZoneThatTwoLeasesRememberIsGuardedByItsGroup(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-x", 3, alone, covers, gated()), zone("zone-b", 2, gated()))
	if err := e.budget("cache", `{"selector":{"matchLabels":{"app":"cache"}},"maxUnavailable":2}`); err != nil {
		t.Fatal(err)
	}
	first := e.pod("zone-x-0")
	time.Sleep(4 * time.Second) // the operator observes the budget
	e.mayEvict("zone-x-0")
	if err := e.evict("zone-x-0"); err != nil {
		t.Fatal(err)
	}
	e.opens(first)
	e.settled()
	e.remembers("lockstep-budget-cache", "zone-x")
	e.change("zone-x", func(s *appsv1.StatefulSet) { set(&s.Labels, groupLabel, defaultGroup) })
	e.remembers(theLease, "zone-x")
	e.mayEvict("zone-b-0")
	if err := e.evict("zone-b-0"); err != nil {
		t.Fatal(err)
	}
	e.gate("zone-x-1", corev1.ConditionFalse)
	e.isBroken("zone-x-1")
	e.never("the eviction of zone-x-0 in the group", time.Second, func() error { return e.evict("zone-x-0") })
	e.change("zone-x", func(s *appsv1.StatefulSet) { set(&s.Labels, groupLabel, "") })
	e.never("the eviction of zone-x-0 while its zone is away", 8*time.Second, func() error { return e.evict("zone-x-0") })
}

// A zone is unavailable when it loses its label, and a rollout has deleted a pod of another zone.
func TestFormerZoneScalesDownOnlyWhileItIsAvailable(t *testing.T) {
	t.Parallel()
	e := evictorOf(guarded(t))
	e.createOpen(zone("zone-a", 3, gated()), zone("zone-b", 2))
	e.change("zone-b", version(2), gated())
	e.awaitDeletion("zone-b-0")
	e.isBroken("zone-b-0")
	e.gate("zone-a-0", corev1.ConditionFalse)
	e.isBroken("zone-a-0")
	e.change("zone-a", func(s *appsv1.StatefulSet) { set(&s.Labels, groupLabel, "") })
	e.never("the downscale of zone-a while it is away and zone-b-0 is down", 4*time.Second, func() error { return e.scaleBy(scaled, "zone-a", -1) })
	e.gate("zone-a-0", corev1.ConditionTrue)
	e.eventually("zone-a, which is available, is scaled down", func(present) error { return e.scaleBy(scaled, "zone-a", -1) })
}

func TestALeaseWithoutItsLabelGetsItBackWhileItsGroupRests(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 1), zone("zone-b", 1))
	s.remembers(theLease, "zone-b")
	s.comesToRest()
	began := time.Now()
	s.editLease(func(l *coordinationv1.Lease) { delete(l.Labels, holdLabel) })
	s.eventually("the Lease has its label again", func(present) error {
		l, err := s.world.admin.CoordinationV1().Leases(s.name).Get(t.Context(), theLease, getOptions)
		if err == nil && l.Labels[holdLabel] == "" {
			err = errors.New("not yet")
		}
		return err
	})
	s.comesToRest()
	writes := slices.DeleteFunc(s.writesOf(s.operator.user, began), func(r judge.Request) bool { return r.Resource != "leases" })
	if len(writes) != 1 {
		t.Errorf("the operator wrote %v, want the Lease once", writes)
	}
	const rest = 5 * time.Second
	time.Sleep(rest)
	for _, r := range s.requests() {
		if r.User == s.operator.user && r.At.After(time.Now().Add(-rest)) {
			t.Errorf("requests of the operator at rest: %s", r)
		}
	}
}
