package group_test

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// The budget covers only orphans. Their partitions must be counted before goroutines share an Outlook: a
// concurrent map write would end the process.
func TestGoroutinesShareAnOutlookOnOrphansOfAPartitionBudget(t *testing.T) {
	s := fixture.MustParse(`
live
zpdb store regex="zone-a-([0-9]+)"
zone-a rev=1 replicas=4
  orphan zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 ready@1
`)
	for range 500 {
		outlook := group.OutlookOf(s)
		var all sync.WaitGroup
		for _, pod := range s.Zones[0].Orphans {
			all.Go(func() { outlook.Evict(plan.EvictionRequest{Pod: pod.Name, UID: pod.UID}) })
		}
		all.Wait()
	}
}

// A StatefulSet creates its pods in order and stops at the first name that an orphan has. So it would not
// replace a higher orphan.
func TestOrphansInTheWayAreEvictedInOrder(t *testing.T) {
	const other = "zone-b rev=1\n zone-b-0 ready@1\n"
	const first = "PodMissing zone-a-0 (an orphan has its name, and the StatefulSet creates pods in order: evict this orphan first); "
	for sentence, tc := range map[string]struct{ group, pod, want string }{
		"the lowest orphan is evicted":                   {inTheWay + other, "zone-a-0", "yes, recorded zone-a-0"},
		"a higher orphan stays while a lower one exists": {inTheWay + other, "zone-a-1", first + "2 pods unknown in zone-a"},
		"an orphan is evicted once the pod that replaced a lower one is available": {
			"zone-a rev=1 replicas=2\n zone-a-0 ready@1\n orphan zone-a-1 ready@1\n" + other, "zone-a-1", "yes, recorded zone-a-1",
		},
		"ordinals are compared as numbers": {
			"zone-a rev=1 replicas=11\n orphan zone-a-10 ready@1 zone-a-2 ready@1\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-3 ready@1 zone-a-4 ready@1 zone-a-5 ready@1 zone-a-6 ready@1 zone-a-7 ready@1 zone-a-8 ready@1 zone-a-9 ready@1\n" + other,
			"zone-a-10", "PodMissing zone-a-2 (an orphan has its name, and the StatefulSet creates pods in order: evict this orphan first); 2 pods unknown in zone-a",
		},
		"a budget of two pods allows an orphan while a lower one is recorded": {
			"hold eviction/zone-a\n intent zone-a-0 granted\nzone-a rev=1 replicas=2 budget=2\n orphan zone-a-0 ready@1 zone-a-1 ready@1\n" + other, "zone-a-1", "yes, recorded zone-a-1",
		},
		"a budget of two pods allows an orphan while a lower one terminates": {
			"zone-a rev=1 replicas=2 budget=2\n orphan zone-a-0 terminating@1 zone-a-1 ready@1\n" + other, "zone-a-1", "yes, recorded zone-a-1",
		},
		"a budget of two pods does not allow an orphan while a lower one is not Ready": {
			"zone-a rev=1 replicas=2 budget=2\n orphan zone-a-0 starting@1 zone-a-1 ready@1\n" + other, "zone-a-1", first + "2 pods unknown in zone-a",
		},
		"an orphan that is not ready is evicted before a lower one": {
			"zone-a rev=1 replicas=2\n orphan zone-a-0 ready@1 zone-a-1 starting@1\n" + other, "zone-a-1", "yes, at version 10",
		},
		"an orphan that is not ready is evicted if the budget has to be healthy, since the pod of its name is missing already": {
			"zpdb store unhealthy=IfHealthyBudget\nzone-a rev=1 replicas=2\n orphan zone-a-0 ready@1 zone-a-1 starting@1 ip=10.0.0.1\n" + other, "zone-a-1", "yes, at version 10",
		},
		"an orphan that is not ready stays if the budget has to be healthy and another pod is not ready": {
			"zpdb store unhealthy=IfHealthyBudget\nzone-a rev=1 replicas=3\n zone-a-2 starting@1\n orphan zone-a-0 ready@1 zone-a-1 starting@1 ip=10.0.0.1\n" + other,
			"zone-a-1", "PodStarting zone-a-2 (2 of at most 1 down); 1 pod not ready, 2 pods unknown in zone-a",
		},
		"an orphan beyond the spec does not block others": {
			"zone-a rev=1 replicas=1 start=1\n orphan zone-a-0 ready@1 zone-a-1 ready@1\n" + other, "zone-a-1", "yes, recorded zone-a-1",
		},
		"an orphan beyond the spec is not blocked by others": {
			"zone-a rev=1 replicas=1 budget=2\n orphan zone-a-0 ready@1 zone-a-1 ready@1\n" + other, "zone-a-1", "yes, recorded zone-a-1",
		},
		"a higher orphan stays while a lower one exists, also if partitions count": {
			`zpdb store regex="zone-[a-c]-([0-9]+)"` + "\n" + inTheWay + "zone-b rev=1 replicas=2\n zone-b-0 ready@1 zone-b-1 ready@1\n", "zone-a-1", first + "2 pods unknown in zone-a",
		},
		"the refusal of the lowest orphan names the other missing pod": {
			"zone-a rev=1 replicas=2\n orphan zone-a-0 ready@1\n" + other, "zone-a-0",
			"PodMissing zone-a-1 (the StatefulSet creates it after zone-a-0, 1 of at most 1 down); 2 pods unknown in zone-a",
		},
		"the refusal of the lowest orphan names an orphan that is not ready": {
			"zone-a rev=1 replicas=2\n orphan zone-a-0 ready@1 zone-a-1 starting@1\n" + other, "zone-a-0",
			"PodStarting zone-a-1 (1 of at most 1 down); 2 pods unknown in zone-a",
		},
		"the refusal of the lowest orphan names a pod beyond the spec": {
			"zone-a rev=1 replicas=1\n zone-a-1 starting@1\n orphan zone-a-0 ready@1\n" + other, "zone-a-0",
			"SurplusPods zone-a-1 (1 of at most 1 down); 1 pod not ready, 1 pod unknown in zone-a",
		},
		"the refusal of the lowest orphan names a pod that is not ready": {
			"zone-a rev=1 replicas=2\n zone-a-1 failing@1 why=CrashLoopBackOff\n orphan zone-a-0 ready@1\n" + other, "zone-a-0",
			"PodFailing zone-a-1 (CrashLoopBackOff, 1 of at most 1 down); 1 pod not ready, 1 pod unknown in zone-a",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(tc.group)
			if got := permitted(s, group.Evict(s, plan.EvictionRequest{Pod: tc.pod, UID: tc.pod})); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// An orphan in the way that waits for a lower one does not block operations of other zones.
func TestAnOrphanThatWaitsForALowerOneTakesNoPlaceInTheQueue(t *testing.T) {
	s := fixture.MustParse(inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n")
	if got := group.Evict(s, plan.EvictionRequest{Pod: "zone-a-1", UID: "zone-a-1"}).Place; got != (plan.Waiting{}) {
		t.Errorf("its place is %+v", got)
	}
}

// All orphans in the way are evicted, and no more pods are down than the budget allows, whatever the budget is,
// in whatever order clients evict orphans, and whether or not granted evictions are carried out.
func TestAllOrphansInTheWayAreEvicted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := newOrphanedZone(rapid.IntRange(1, 5).Draw(t, "replicas"), rapid.IntRange(1, 3).Draw(t, "budget"))
		for range rapid.IntRange(0, 12).Draw(t, "moves") {
			ordinal := rapid.IntRange(0, z.replicas-1).Draw(t, "ordinal")
			switch rapid.SampledFrom([]string{"evict", "evict", "delete", "lapse", "create"}).Draw(t, "move") {
			case "evict":
				z.evict(t, ordinal)
			case "delete":
				z.carryOut(ordinal)
			case "lapse":
				z.granted[ordinal] = false
			case "create":
				z.create()
			}
		}
		for range z.replicas {
			for ordinal := range z.replicas {
				z.evict(t, ordinal)
				z.carryOut(ordinal)
			}
			z.create()
		}
		if slices.Contains(z.names, anOrphan) {
			t.Fatalf("the zone is stuck: %v", z.names)
		}
	})
}

// orphanedZone is a zone that was created again with another selector. Its slices are indexed by ordinal.
type orphanedZone struct {
	replicas, budget int
	names            []string // anOrphan, aPod or nothing
	granted          []bool   // by ordinal: its eviction is granted
}

const anOrphan, aPod, nothing = "orphan", "pod", "nothing"

func newOrphanedZone(replicas, budget int) *orphanedZone {
	return &orphanedZone{replicas, budget, slices.Repeat([]string{anOrphan}, replicas), make([]bool, replicas)}
}

// evict requests the eviction of an orphan. If it is granted, it is recorded.
func (z *orphanedZone) evict(t *rapid.T, ordinal int) {
	name := plan.PodName("zone-a", ordinal)
	if z.names[ordinal] != anOrphan || !group.Evict(z.snapshot(), plan.EvictionRequest{Pod: name, UID: name}).Allowed() {
		return
	}
	z.granted[ordinal] = true
	if down := z.down(); down > z.budget {
		t.Fatalf("%d pods are down or about to be, of at most %d: %v", down, z.budget, z.names)
	}
}

func (z *orphanedZone) snapshot() group.Snapshot {
	s := fixture.Group(fixture.Zone("zone-a", "1", fixture.Budget(z.budget), fixture.Replicas(z.replicas)))
	s.Hold = fixture.NewHold("eviction/zone-a")
	zone := &s.Zones[0]
	for ordinal, occupant := range z.names {
		name := plan.PodName(zone.Name, ordinal)
		pod := fixture.NewPod(name, ordinal, plan.Ready)
		pod.Revision = "1"
		switch occupant {
		case anOrphan:
			zone.Orphans = append(zone.Orphans, pod)
		case aPod:
			zone.Pods = append(zone.Pods, pod)
		}
		if z.granted[ordinal] {
			s.Hold.Intents = append(s.Hold.Intents, fixture.Granted(name))
		}
	}
	return s
}

// carryOut deletes a pod whose eviction was granted.
func (z *orphanedZone) carryOut(ordinal int) {
	if z.granted[ordinal] {
		z.names[ordinal], z.granted[ordinal] = nothing, false
	}
}

// create creates pods as the StatefulSet controller does.
func (z *orphanedZone) create() {
	for ordinal, occupant := range z.names {
		switch occupant {
		case anOrphan:
			return
		case nothing:
			z.names[ordinal] = aPod
		}
	}
}

// down counts missing pods without an orphan, and pods whose eviction is granted.
func (z *orphanedZone) down() (count int) {
	for ordinal, occupant := range z.names {
		if occupant == nothing || z.granted[ordinal] {
			count++
		}
	}
	return count
}
