package apiserver_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// recreated deletes the StatefulSet of a zone without its pods, and creates another one with its name.
func (s *scene) recreated(z *appsv1.StatefulSet) {
	s.t.Helper()
	s.orphans(z.Name)
	if _, err := s.world.admin.AppsV1().StatefulSets(s.name).Create(s.t.Context(), z, createOptions); err != nil {
		s.t.Fatal(err)
	}
}

// otherLabels replaces the labels of a zone's pods.
func otherLabels() option { return podLabels(map[string]string{"zone": "another"}) }

func TestOrphansBeyondTheReplicasOfTheirStatefulSetAreEvicted(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	e.recreated(zone("zone-a", 2, otherLabels(), ordinalsFrom(10)))
	e.serve("zone-a-0", "zone-a-1", "zone-a-10", "zone-a-11")
	for _, pod := range []string{"zone-a-0", "zone-a-1"} {
		e.eventually(pod+" is evicted", func(present) error { return e.evict(pod) })
	}
	e.mayEvict("zone-b-0")
	e.changeAll(version(2))
	e.settled()
}

func TestOrphansInTheWayOfTheirStatefulSetAreEvictedOneByOne(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	e.recreated(zone("zone-a", 2, otherLabels(), gated()))
	e.never("the eviction of zone-b-0 while zone-a has no pods", aWhile, func() error { return e.evict("zone-b-0") })
	first, second := e.pod("zone-a-0"), e.pod("zone-a-1")
	e.eventually("zone-a-0 is evicted", func(present) error { return e.evict("zone-a-0") })
	e.isBroken("zone-a-0")
	e.never("the eviction of zone-a-1 while zone-a-0 is down", aWhile, func() error { return e.evict("zone-a-1") })
	e.refused(e.evict("zone-a-1"), "zone-a-0")
	e.refused(e.evict("zone-b-0"), "zone-a")
	e.opens(first)
	e.eventually("zone-a-1 is evicted", func(present) error { return e.evict("zone-a-1") })
	e.opens(second)
	e.mayEvict("zone-b-0")
	e.settled()
}

// The StatefulSet controller stops at the first pod that it cannot create, so it would not replace an orphan
// with a higher ordinal.
func TestOrphansInTheWayAreEvictedInOrder(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]appsv1.PodManagementPolicyType{
		"pods are created one after the other": appsv1.OrderedReadyPodManagement,
		"pods are created together":            appsv1.ParallelPodManagement,
		"the API server sets the default":      "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evictions(t)
			created := func(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = policy }
			e.create(zone("zone-a", 2, created), zone("zone-b", 2, created))
			e.recreated(zone("zone-a", 2, created, otherLabels()))
			e.never("the eviction of zone-a-1 while zone-a-0 is an orphan", aWhile, func() error { return e.evict("zone-a-1") })
			e.refused(e.evict("zone-a-1"), "zone-a-0", "evict this orphan first")
			e.eventually("zone-a-0 is evicted", func(present) error { return e.evict("zone-a-0") })
			e.eventually("zone-a-1 is evicted", func(present) error { return e.evict("zone-a-1") })
			e.mayEvict("zone-b-0")
			e.settled()
		})
	}
}

// A StatefulSet is created again with another selector, and lockstep is to ignore it.
func TestAnOrphanInTheWayOfAStatefulSetOutsideOfTheGroupStays(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	e.remembers(theLease, "zone-a")
	e.recreated(zone("zone-a", 2, otherLabels(), ignored(true)))
	e.never("the eviction of zone-a-0", aWhile, func() error { return e.evict("zone-a-0") })
	e.refused(e.evict("zone-a-0"), "zone-a-0", "an orphan has its name")
	e.change("zone-a", ignored(false))
	e.eventually("zone-a-0 is evicted", func(present) error { return e.evict("zone-a-0") })
	e.eventually("zone-a-1 is evicted", func(present) error { return e.evict("zone-a-1") })
	e.settled()
}

// A chart changes the selectors of all zones, so each StatefulSet is created again next to its former pods.
func TestOrphansInTheWayInTwoZonesAreEvictedOneByOne(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 1))
	e.recreated(zone("zone-a", 2, otherLabels(), gated()))
	e.recreated(zone("zone-b", 1, podLabels(map[string]string{"zone": "one-more"}), gated()))
	evict := func(name, waits string) {
		former := e.pod(name)
		e.eventually(name+" is evicted", func(present) error { return e.evict(name) })
		e.isBroken(name)
		e.never("the eviction of "+waits+" while "+name+" is down", aWhile, func() error { return e.evict(waits) })
		e.refused(e.evict(waits), name)
		e.opens(former)
	}
	evict("zone-a-0", "zone-b-0")
	evict("zone-b-0", "zone-a-1")
	e.mayEvict("zone-a-1")
}

// Each StatefulSet is created again in the other group, with another selector, so the orphans of each zone are in the way.
func TestTwoGroupsThatSwapZonesEvictTheOrphansOfBoth(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 1), zone("zone-b", 1), zone("zone-y", 1, inGroup("other")), zone("zone-z", 1, inGroup("other")))
	e.remembers(theLease, "zone-b")
	e.remembers("lockstep-group-other", "zone-y")
	e.recreated(zone("zone-b", 1, otherLabels(), inGroup("other")))
	e.recreated(zone("zone-y", 1, podLabels(map[string]string{"zone": "one-more"})))
	for _, name := range []string{"zone-b-0", "zone-y-0"} {
		e.eventually(name+" is evicted", func(present) error { return e.evict(name) })
	}
	e.settled()
}
