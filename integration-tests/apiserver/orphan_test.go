package apiserver_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// awayFor is how long a zone has no StatefulSet. An operator has time to act.
const awayFor = 1500 * time.Millisecond

// orphans deletes the StatefulSet of a zone without its pods. The returned function creates it
// again.
func (s *scene) orphans(name string) (apply func()) {
	s.t.Helper()
	sets := s.world.admin.AppsV1().StatefulSets(s.name)
	was, err := sets.Get(s.t.Context(), name, getOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := sets.Delete(s.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}); err != nil {
		s.t.Fatal(err)
	}
	s.eventually(name+" was deleted without its pods", func(present) error {
		_, err := sets.Get(s.t.Context(), name, getOptions)
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("not yet"), err)
		}
		return nil
	})
	return func() {
		s.t.Helper()
		again := &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: was.Name, Labels: was.Labels, Annotations: was.Annotations}, Spec: was.Spec,
		}
		if _, err := sets.Create(s.t.Context(), again, createOptions); err != nil {
			s.t.Fatal(err)
		}
	}
}

// spares fails the test if one of these pods is deleted within a time.
func (s *scene) spares(why string, lasting time.Duration, pods ...string) {
	s.t.Helper()
	before := s.witness.now()
	s.stays(why, lasting, func(now present) error {
		for _, name := range pods {
			was, is := before.pods[name], now.pods[name]
			if is == nil || is.UID != was.UID || is.DeletionTimestamp != nil {
				return fmt.Errorf("%s was deleted", name)
			}
		}
		return nil
	})
}

func TestAZoneOrphanedDuringARolloutBlocksTheOthersUntilItIsAvailable(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2, removedAfter(4*time.Second)), zone("zone-b", 2))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	first := s.witness.now().pods["zone-a-0"]
	apply := s.orphans("zone-a")
	s.eventually("zone-a-0 is deleted", func(now present) error {
		if pod := now.pods["zone-a-0"]; pod != nil && pod.UID == first.UID {
			return errors.New("not yet")
		}
		return nil
	})
	s.spares("zone-b serves while zone-a is away", awayFor, "zone-b-0", "zone-b-1")
	s.awaitEvent("Warning", "ZoneLeftGroup", "zone-b")
	apply()
	s.spares("zone-b serves while zone-a is unavailable", 3*time.Second, "zone-b-0", "zone-b-1")
	s.changeAll(version(3), gateless())
	s.settled()
}

func TestAZoneOrphanedWithAPodDownBlocksTheOthers(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2, gated()), zone("zone-b", 2))
	e.gate("zone-a-1", corev1.ConditionFalse)
	e.isBroken("zone-a-1")
	e.change("zone-b", version(2))
	apply := e.orphans("zone-a")
	e.spares("zone-b serves while zone-a is away", awayFor, "zone-b-0", "zone-b-1")
	apply()
	e.spares("zone-b serves while zone-a is unavailable", aWhile, "zone-b-0", "zone-b-1")
	e.gate("zone-a-1", corev1.ConditionTrue)
	e.settled()
}

func regrouped(to string) option {
	return func(s *appsv1.StatefulSet) { set(&s.Labels, groupLabel, to) }
}

func TestAZoneOutOfItsGroupForAMomentBlocksTheOthers(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]struct{ there, back option }{
		"without a group":                   {regrouped(""), regrouped(defaultGroup)},
		"in another group":                  {regrouped("elsewhere"), regrouped(defaultGroup)},
		"in another group by an annotation": {named("elsewhere"), named("")},
		"ignored":                           {ignored(true), ignored(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evictions(t)
			e.createOpen(zone("zone-a", 2, gated()), zone("zone-b", 2))
			e.gate("zone-a-1", corev1.ConditionFalse)
			e.isBroken("zone-a-1")
			e.change("zone-b", version(2))
			e.change("zone-a", moves.there)
			e.spares("zone-b serves while zone-a is away", awayFor, "zone-b-0", "zone-b-1")
			e.change("zone-a", moves.back)
			e.spares("zone-b serves while zone-a is unavailable", aWhile, "zone-b-0", "zone-b-1")
			e.gate("zone-a-1", corev1.ConditionTrue)
			e.settled()
		})
	}
}

func TestPodsOfAnOrphanedZoneAreNotEvictedWhileAnotherZoneIsDown(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2, removedAfter(6*time.Second)))
	e.mayEvict("zone-b-0")
	if err := e.evict("zone-b-0"); err != nil {
		t.Fatal(err)
	}
	e.refused(e.evict("zone-a-0"), "GroupHeld")
	apply := e.orphans("zone-a")
	for _, pod := range []string{"zone-a-0", "zone-a-1"} {
		e.refused(e.evict(pod), "eviction of "+pod+" in zone-a is refused (")
	}
	apply()
	e.settled()
}

func TestAZoneDeletedWithItsPodsBlocksNoOtherZone(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.change("zone-b", version(2), paused(true))
	s.remove("zone-a")
	s.change("zone-b", paused(false))
	s.settled()
}
