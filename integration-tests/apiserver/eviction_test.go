package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestAPodIsEvictedUnderTheHoldOfItsGroup(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	before := e.pod("zone-a-1")
	e.mayEvict("zone-a-1")
	if err := e.evict("zone-a-1"); err != nil {
		t.Fatal(err)
	}
	e.comesBack(before)
	e.settled()
	history, err := e.witness.Events()
	if err != nil {
		t.Fatal(err)
	}
	recorded := false
	for _, f := range history {
		if f.Hold != nil && f.Hold.Holder == "eviction/zone-a" && len(f.Hold.Intents) == 1 && f.Hold.Intents[0].UID == string(before.UID) {
			recorded = true
		}
		if f.Pod != nil && f.Pod.UID == string(before.UID) && (f.Pod.Terminating || f.Pod.Deleted) && !recorded {
			t.Fatalf("%s terminates before its eviction is recorded", before.Name)
		}
	}
	if warned := e.warned(); !recorded || len(warned) > 0 {
		t.Errorf("recorded %t, warned of %q", recorded, warned)
	}
}

func TestEvictionsInTwoZonesTakeTurns(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2, gated()), zone("zone-b", 2))
	first, second := e.pod("zone-a-0"), e.pod("zone-b-0")
	e.mayEvict(first.Name)
	if err := e.evict(first.Name); err != nil {
		t.Fatal(err)
	}
	e.refused(e.evict("zone-a-1"), "1 pod ", " in zone-a; eviction of zone-a-1 in zone-a is refused (")
	e.refused(e.evict(second.Name), "1 pod ", " in zone-a; eviction of zone-b-0 in zone-b is refused (GroupHeld", "another operation holds the group")
	e.eventually("zone-b, which repeats its request, has a place in the queue", func(now present) error {
		e.refused(e.evict(second.Name), "eviction of zone-b-0 in zone-b is refused (GroupHeld")
		lease := now.leases["lockstep-group-"+defaultGroup]
		if lease == nil || !strings.Contains(lease.Annotations["lockstep.dev/waiting"], "zone-b") {
			return errors.New("not yet")
		}
		return nil
	})
	e.eventually("zone-a has to let it go first", func(present) error {
		err := e.evict("zone-a-1")
		e.refused(err, "eviction of zone-a-1 in zone-a is refused")
		if err != nil && !strings.Contains(err.Error(), "(QueuedBehindOtherZone zone-b") {
			return err
		}
		e.refused(err, "; its place in the queue lapses in ", " unless it asks again")
		return nil
	})
	e.opens(first)
	e.eventually("its turn begins", func(present) error { return e.evict(second.Name) })
	e.comesBack(second)
	e.settled()
}

// The client never sends the admitted update. The group has no other work, so lockstep reads the
// Lease only to answer a webhook.
func TestADownscaleEndsIfOnlyALiveReadShowsItsLease(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	first, second := e.pod("zone-a-0"), e.pod("zone-b-0")
	e.mayEvict(first.Name)
	if err := e.evict(first.Name); err != nil {
		t.Fatal(err)
	}
	e.comesBack(first)
	e.settled()
	judged, err := e.world.admin.AppsV1().StatefulSets(e.name).Get(t.Context(), "zone-a", getOptions)
	if err != nil {
		t.Fatal(err)
	}
	const admitted = `{"version":1,"decrease":{"zone":"zone-a","uid":%q,"resourceVersion":%q,"generation":%d,"from":2,"to":1,"stage":"admitted","since":%q}}`
	e.editLease(func(l *coordinationv1.Lease) {
		l.Labels, l.Spec.HolderIdentity = nil, new("downscale/zone-a")
		l.Annotations[intentsAnnotation] = fmt.Sprintf(admitted, judged.UID, judged.ResourceVersion, judged.Generation, time.Now().UTC().Format(time.RFC3339))
	})
	e.refused(e.evict(second.Name), "eviction of zone-b-0 in zone-b is refused (")
	e.eventually("the other zone has its turn", func(present) error { return e.evict(second.Name) })
	e.comesBack(second)
	e.settled()
}

func TestAPodThatIsDownIsEvictedUnderAnyHold(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2, gated()), zone("zone-b", 1, gated()))
	down := e.pod("zone-b-0")
	e.mayEvict("zone-a-0")
	if err := e.evict("zone-a-0"); err != nil {
		t.Fatal(err)
	}
	e.gate(down.Name, corev1.ConditionFalse)
	e.eventually("it is evicted", func(present) error { return e.evict(down.Name) })
	e.eventually("it is deleted", func(now present) error {
		if pod := now.pods[down.Name]; pod != nil && pod.UID == down.UID {
			return errors.New("not yet")
		}
		return nil
	})
	if warned := e.warned(); len(warned) > 0 {
		t.Errorf("warned of %q", warned)
	}
}

func TestADryRunOfAnEvictionWritesNothing(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	e.mayEvict("zone-a-0")
	for _, err := range []error{e.evict("zone-a-0", dryEviction), e.evictDryByQuery("zone-a-0")} {
		if err != nil {
			t.Error(err)
		}
	}
	e.stays("the group has no holder", aWhile, free)
}

func TestAnEvictionThatIsBoundToNoPodIsGrantedWithAWarning(t *testing.T) {
	t.Parallel()
	e := unboundEvictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	before := e.pod("zone-a-1")
	e.mayEvict(before.Name)
	if err := e.evict(before.Name); err != nil {
		t.Fatal(err)
	}
	if warned := e.warned(); len(warned) != 1 || !strings.Contains(warned[0], "pod-eviction-pin") {
		t.Errorf("warned of %q", warned)
	}
	e.comesBack(before)
	e.settled()
}

func TestADrainGetsNotFoundForADeletedPod(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	if err := e.evict("zone-a-0"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "pod-eviction.lockstep.dev") {
		t.Errorf("got %v", err)
	}
}

// If a pod is replaced between the grant and the deletion, the eviction does not delete the
// replacement.
func TestAPodCreatedBetweenGrantAndDeletionSurvives(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	before := e.pod("zone-a-1")
	finish := e.replacedOnceGranted(before)
	if err := finish(); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict: it is not the pod that was judged", err)
	}
	after := e.pod(before.Name)
	e.settled()
	if now := e.pod(before.Name); now.UID != after.UID {
		t.Error("the replacement was deleted")
	}
}

// An unbound eviction deletes the pod that has the name when the API server carries it out. So it
// blocks other zones even after the pod was replaced.
func TestAnUnboundEvictionOfTheReplacementDisruptsOnlyOneZone(t *testing.T) {
	t.Parallel()
	e := unboundEvictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	before := e.pod("zone-a-1")
	finish := e.replacedOnceGranted(before)
	replacement := e.pod(before.Name)
	e.change("zone-b", version(2))
	e.spares("zone-b waits after the pod was replaced", aWhile, "zone-b-0", "zone-b-1")
	if err := finish(); err != nil {
		t.Errorf("the eviction is not bound, and it failed: %v", err)
	}
	e.comesBack(replacement)
	e.spares("zone-b waits after the replacement was evicted", aWhile, "zone-b-0", "zone-b-1")
}
