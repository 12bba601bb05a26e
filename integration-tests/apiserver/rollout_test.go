package apiserver_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// short makes pods slow enough for a test to act between two steps.
const short = 400 * time.Millisecond

func TestAGroupRollsZoneByZoneAndAdoptsTheRevision(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3), zone("zone-b", 3), zone("zone-c", 3))
	before := s.witness.now().sets["zone-a"].Status.CurrentRevision
	s.changeAll(version(2))
	s.settledSoon()
	s.wantDeletions(s.allPods()...)
	for _, name := range s.zones {
		status := s.witness.now().sets[name].Status
		if status.CurrentRevision != status.UpdateRevision || status.CurrentRevision == before {
			t.Errorf("%s: current revision %s, update revision %s, at first %s", name, status.CurrentRevision, status.UpdateRevision, before)
		}
	}
	s.awaitEvent("Normal", "OutdatedRevision", "zone-a")
	s.awaitEvent("Normal", "RevisionComplete", "zone-c")
}

func TestOneZoneAloneIsAGroup(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3))
	s.changeAll(version(2))
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-2")
}

func TestStatefulSetsOutsideGroupsAreNotWritten(t *testing.T) {
	t.Parallel()
	s := managed(t)
	alone := zone("alone", 2)
	delete(alone.Labels, groupLabel)
	s.create(alone, zone("zone-a", 2))
	s.changeAll(version(2))
	s.finishes("zone-a")
	s.nothingIsDeleted("of a StatefulSet without the label")
	s.wantDeletions("zone-a-0", "zone-a-1")
}

func TestZonesFollowInNaturalOrder(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-10", 2), zone("zone-2", 2), zone("zone-1", 2))
	s.change("zone-1", version(2), gated())
	s.change("zone-10", version(2))
	s.change("zone-2", version(2))
	s.awaitWaiting("NotItsTurn", "zone-2") // so the other zones are outdated before zone-1 is done
	s.opensGates("zone-1-0", "zone-1-1")
	s.settled()
	s.wantDeletions("zone-1-0", "zone-1-1", "zone-2-0", "zone-2-1", "zone-10-0", "zone-10-1")
}

func TestOrdinalsMayStartAnywhere(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3, ordinalsFrom(9)), zone("zone-b", 2, ordinalsFrom(1)))
	s.changeAll(version(2))
	s.settledSoon()
	s.wantDeletions("zone-a-9", "zone-a-10", "zone-a-11", "zone-b-1", "zone-b-2")
}

func TestPodsStartedOneAfterTheOtherAreRolledAsWell(t *testing.T) {
	t.Parallel()
	s := managed(t)
	inOrder := func(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement }
	s.create(zone("zone-a", 2, inOrder), zone("zone-b", 2, inOrder))
	s.changeAll(version(2))
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
}

func TestTwoNamespacesWithTheSameGroupAreIndependent(t *testing.T) {
	t.Parallel()
	s, other := managed(t), newScene(t, "-b", true)
	for _, scene := range []*scene{s, other} {
		scene.create(zone("zone-a", 2), zone("zone-b", 2))
	}
	s.changeAll(version(2), gated())
	other.changeAll(version(2), gated())
	for _, scene := range []*scene{s, other} {
		scene.awaitDeletion("zone-a-0") // although the other group also waits for a pod
	}
	for _, scene := range []*scene{s, other} {
		scene.opensGates("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
		scene.settled()
		scene.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
		scene.lease("lockstep-group-" + defaultGroup)
	}
}

func TestTwoGroupsOfANamespaceAreIndependent(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("x-a", 2, inGroup("x")), zone("x-b", 2, inGroup("x")), zone("y-a", 2, inGroup("y")), zone("y-b", 2, inGroup("y")))
	s.rules.unordered = true // the deletions of x and y are mixed
	s.change("x-a", version(2), plays("never-ready"))
	s.change("y-a", version(2))
	s.change("y-b", version(2))
	s.finishes("y-a")
	s.finishes("y-b")
	s.change("x-a", plays(""))
	s.settled()
}

func TestAStuckGroupDoesNotKeepAnotherNamespaceWaiting(t *testing.T) {
	t.Parallel()
	stuck, s := newScene(t, "-stuck", true), managed(t)
	stuck.create(zone("zone-a", 2), zone("zone-b", 2))
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	stuck.changeAll(version(2), plays("crash-loop"))
	stuck.awaitDeletion("zone-a-0")
	began := time.Now()
	s.changeAll(version(2))
	s.settled()
	s.neverIdled(began)
	stuck.wantDeletions("zone-a-0")
}

func TestPodsOfOtherOwnersAreNeitherDeletedNorCounted(t *testing.T) {
	t.Parallel()
	s := managed(t)
	same := map[string]string{"app": "store", "rollout-group": defaultGroup}
	s.create(zone("zone-a", 2, podLabels(same)))
	twin := zone("twin", 2, podLabels(same), plays("never-ready"))
	delete(twin.Labels, groupLabel)
	if _, err := s.world.admin.AppsV1().StatefulSets(s.name).Create(t.Context(), twin, createOptions); err != nil {
		t.Fatal(err)
	}
	loner := &corev1.Pod{}
	loner.Name, loner.Labels = "stranger", same
	loner.Spec = *twin.Spec.Template.Spec.DeepCopy()
	if _, err := s.world.admin.CoreV1().Pods(s.name).Create(t.Context(), loner, createOptions); err != nil {
		t.Fatal(err)
	}
	s.create(zone("zone-b", 2))
	s.eventually("the pods of other owners exist", func(now present) error {
		for _, name := range []string{"stranger", "twin-0", "twin-1"} {
			if p := now.pods[name]; p == nil || p.Status.PodIP == "" {
				return fmt.Errorf("%s is not", name)
			}
		}
		return nil
	})
	otherPods := func(now present) string {
		return fmt.Sprint(now.pods["stranger"].UID, now.pods["twin-0"].UID, now.pods["twin-1"].UID)
	}
	before := otherPods(s.witness.now())
	s.changeAll(version(2))
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
	if after := otherPods(s.witness.now()); after != before {
		t.Errorf("pods of other owners were replaced: %s became %s", before, after)
	}
}
