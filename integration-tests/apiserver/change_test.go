package apiserver_test

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestATemplateChangedAgainAndAgainIsFollowed(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.rules.unordered = true // every change restarts the order
	s.create(zone("zone-a", 3), zone("zone-b", 2), zone("zone-c", 2))
	for n := 2; n <= 8; n++ {
		s.changeAll(version(n), readyAfter(150*time.Millisecond))
		time.Sleep(200 * time.Millisecond)
	}
	s.settledSoon()
}

func TestARevertMidRolloutReplacesOnlyPodsThatWereRolled(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3), zone("zone-b", 2))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.isBroken("zone-a-0")
	s.gate("zone-a-0", "True")
	s.awaitDeletion("zone-a-1")
	s.isBroken("zone-a-1")
	s.changeBackwards(version(1), gateless())
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-1", "zone-a-0")
}

func TestARevertBeforeTheFirstDeletionReplacesNoPod(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.change("zone-a", paused(true), version(2))
	s.eventually("zone-a is seen to be outdated", func(now present) error {
		if status := now.sets["zone-a"].Status; status.UpdateRevision == status.CurrentRevision {
			return errors.New("not yet")
		}
		return nil
	})
	s.change("zone-a", version(1))
	s.change("zone-a", paused(false))
	s.settledSoon()
	s.nothingIsDeleted("of an unchanged template")
	s.wantDeletions()
}

func TestANewStatefulSetIsNotRolledAndWaitedFor(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3))
	s.change("zone-a", version(2), readyAfter(short))
	s.awaitDeletion("zone-a-0")
	s.begin(zone("zone-b", 2, readyAfter(3*time.Second)))
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-2")
}

func TestAZoneDeletedMidRolloutFreesTheGroup(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3, removedAfter(time.Second)), zone("zone-b", 2)) // its pods outlive the zone
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.remove("zone-a")
	gone := time.Now()
	s.awaitDeletion("zone-b-0")
	if took := time.Since(gone); took > soon {
		t.Errorf("the group continued %s after the zone was deleted, want at most %s", took, soon)
	}
	for _, pod := range []string{"zone-b-0", "zone-b-1"} {
		s.awaitDeletion(pod)
		s.isBroken(pod)
		s.gate(pod, "True")
	}
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-b-0", "zone-b-1")
}

func TestAZoneRemovedFromItsGroupMidRolloutFreesTheGroup(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 1), zone("zone-b", 2))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.isBroken("zone-a-0")
	s.change("zone-a", inGroup("another"))
	s.nothingIsDeleted("while the pod that the group took down is not back")
	s.gate("zone-a-0", "True")
	back := time.Now()
	s.awaitDeletion("zone-b-0")
	if took := time.Since(back); took > soon {
		t.Errorf("the group went on %s after that pod was back, at most %s wanted", took, soon)
	}
	for _, pod := range []string{"zone-b-0", "zone-b-1"} {
		s.awaitDeletion(pod)
		s.isBroken(pod)
		s.gate(pod, "True")
	}
	s.settledSoon()
	s.wantEachOnce()
}

func TestAZoneCreatedAgainDuringARolloutIsAwaited(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.remove("zone-a")
	s.begin(zone("zone-a", 2, version(2), readyAfter(time.Second)))
	s.opensGates("zone-b-0", "zone-b-1")
	s.settledSoon()
	// Until the garbage collector has deleted the revision of the old StatefulSet, the new
	// one may name it. Then the first pods of the new one may be replaced before they are
	// ready. Ready pods are kept.
	var served []string
	for _, d := range s.disruptions() {
		if d.WasServing {
			served = append(served, d.Pod)
		}
	}
	if want := []string{"zone-a-0", "zone-b-0", "zone-b-1"}; !slices.Equal(served, want) {
		t.Errorf("operators took down %q, want %q", served, want)
	}
}

func TestAZoneScaledUpMidRolloutIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.change("zone-a", replicas(3))
	s.change("zone-b", replicas(3))
	s.opensGatesAsTheyClose()
	s.settledSoon()
	got := slices.Sorted(slices.Values(s.deletions()))
	if want := []string{"zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1"}; !slices.Equal(got, want) {
		t.Errorf("operators deleted %q, want %q", got, want) // new pods have the new template from the start
	}
}

func TestAZoneScaledDownMidRolloutReachesItsGoal(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 4), zone("zone-b", 3))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.change("zone-a", replicas(2))
	s.change("zone-b", replicas(1))
	s.opensGatesAsTheyClose()
	s.settledSoon()
	if got := s.deletions(); slices.Contains(got, "zone-a-3") || slices.Contains(got, "zone-b-2") {
		t.Errorf("operators deleted %q, pods that go anyway among them", got)
	}
}

func TestTheVeryPodOfAStepScaledAwayMidRolloutDoesNotBlock(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.isBroken("zone-a-0")
	s.gate("zone-a-0", "True")
	s.awaitDeletion("zone-a-1")
	s.isBroken("zone-a-1")
	s.change("zone-a", replicas(1))
	for _, pod := range []string{"zone-b-0", "zone-b-1"} {
		s.awaitDeletion(pod)
		s.isBroken(pod)
		s.gate(pod, "True")
	}
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
}

func TestAZoneScaledToZeroMidRolloutDoesNotBlock(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.change("zone-a", replicas(0))
	s.opensGates("zone-b-0", "zone-b-1")
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-b-0", "zone-b-1")
}

func TestABudgetRaisedMidRolloutIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 4), zone("zone-b", 1))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.nothingIsDeleted("beyond a budget of one")
	s.change("zone-a", maxUnavailable("3"))
	s.awaitDeletions(3)
	s.nothingIsDeleted("beyond a budget of three")
}

func TestTheSameChangeThreeTimesInARowIsOneRolloutEach(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	want := []string{}
	for n := 2; n <= 4; n++ {
		s.changeAll(version(n))
		s.settledSoon()
		want = append(want, "zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
	}
	s.wantDeletions(want...)
	if got := *s.lease("lockstep-group-" + defaultGroup).Spec.LeaseTransitions; got != 6 {
		t.Errorf("leaseTransitions is %d after 3 rollouts of 2 zones, want 6", got)
	}
}

func TestAGroupThatIsCreatedAtOnceIsNotRolled(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.begin(zone("zone-a", 2, readyAfter(short)), zone("zone-b", 2), zone("zone-c", 2, readyAfter(2*short)))
	s.settledSoon()
	s.nothingIsDeleted("of a group that is new")
	s.wantDeletions()
	if err := free(s.witness.now()); err != nil {
		t.Errorf("a new group: %v", err)
	}
}
