package apiserver_test

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	groupNameAnnotation = "lockstep.dev/rollout-group"
	ignoreAnnotation    = "lockstep.dev/ignore"
)

// named puts a StatefulSet into the group of that name, whatever its label is. The empty name
// removes the annotation.
func named(group string) option { return setAnnotated(groupNameAnnotation, group) }

func ignored(yes bool) option { return setAnnotated(ignoreAnnotation, strconv.FormatBool(yes)) }

// One of two products is stuck. The other one continues.
func TestTwoProductsWithTheSameLabelAreRolledAsTwoGroups(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2), zone("loki-a", 2, named("loki")), zone("loki-b", 2, named("loki")))
	s.change("zone-a", version(2), gated())
	s.change("zone-b", version(2))
	s.awaitDeletion("zone-a-0")
	s.change("loki-a", version(2))
	s.change("loki-b", version(2))
	s.finishes("loki-a")
	s.finishes("loki-b")
	s.spares("zone-b serves while zone-a is unavailable", aWhile, "zone-b-0", "zone-b-1")
	s.lease("lockstep-group-loki")
	s.change("zone-a", version(3), gateless())
	s.settled()
}

// The chart of loki fixes the label, and another controller replaces its pods.
func TestAProductThatIsIgnoredLetsTheOtherRoll(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]option{"ignored": ignored(true), "in a group of its own": named("loki")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			s.create(zone("zone-a", 2), zone("zone-b", 2), zone("loki-a", 2, strategy("RollingUpdate")))
			s.change("zone-a", version(2))
			s.change("zone-b", version(2))
			s.awaitEvent("Warning", "WrongUpdateStrategy", "zone-a")
			s.nothingIsDeleted("while a StatefulSet of the group has another update strategy")
			s.change("loki-a", out)
			s.settled()
			s.change("loki-a", version(2))
			s.settled()
			s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
		})
	}
}

func TestAZoneIgnoredDuringARolloutBlocksTheOthersUntilItIsAvailable(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2, gated()), zone("zone-b", 2))
	e.change("zone-a", version(2))
	e.change("zone-b", version(2))
	e.awaitDeletion("zone-a-0")
	e.change("zone-a", ignored(true))
	e.spares("nothing is deleted while zone-a is unavailable", awayFor, "zone-a-1", "zone-b-0", "zone-b-1")
	e.awaitEvent("Warning", "ZoneLeftGroup", "zone-b")
	e.refused(e.evict("zone-a-1", dryEviction), "eviction of zone-a-1 in zone-a is refused (")
	e.refused(e.evict("zone-b-0", dryEviction), "by a zone that left the group")

	e.gate("zone-a-0", corev1.ConditionTrue)
	e.finishes("zone-b")
	e.eventually("the Lease is given back", free)
	e.spares("an ignored zone keeps its outdated pods", aWhile, "zone-a-1")
	if err := e.evict("zone-a-1"); err != nil {
		t.Errorf("a pod of an ignored zone: %v", err)
	}
	e.change("zone-a", ignored(false), gateless())
	e.settled()
}

func TestEvictionsCountInTheGroupThatAnAnnotationNames(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	later := removedAfter(8 * time.Second)
	e.create(zone("zone-a", 2, later), zone("loki-a", 2, later, named("loki")), zone("loki-b", 2, later, named("loki")))
	e.mayEvict("loki-a-0")
	if err := e.evict("loki-a-0"); err != nil {
		t.Fatal(err)
	}
	e.refused(e.evict("loki-b-0"), "GroupHeld")
	e.mayEvict("zone-a-0")
	if err := e.evict("zone-a-0"); err != nil {
		t.Errorf("a pod of the other group: %v", err)
	}
	e.settled()
}
