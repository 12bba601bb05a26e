package apiserver_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheLeaseRecordsARolloutFromBeginningToEnd(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2), zone("zone-c", 2))
	if err := free(s.witness.now()); err != nil {
		t.Errorf("before anything is rolled: %v", err)
	}
	s.changeAll(version(2))
	s.settledSoon()

	history, err := s.witness.Events()
	if err != nil {
		t.Fatal(err)
	}
	var holders []string
	recorded := 0
	for _, f := range history {
		if f.Hold == nil {
			continue
		}
		if h := f.Hold.Holder; h != "" && (len(holders) == 0 || last(holders) != h) {
			holders = append(holders, h) // between zones, the hold may be released or handed over
		}
		recorded = max(recorded, len(f.Hold.Intents))
	}
	want := []string{"rollout/zone-a", "rollout/zone-b", "rollout/zone-c"}
	if !slices.Equal(holders, want) {
		t.Errorf("holders were %q, want %q", holders, want)
	}
	if recorded != 1 {
		t.Errorf("up to %d pods were recorded at a time, want 1", recorded)
	}
	l := s.lease("lockstep-group-" + defaultGroup)
	if got := *l.Spec.LeaseTransitions; got != 3 {
		t.Errorf("leaseTransitions is %d, want 3", got)
	}
	if l.Labels[holdLabel] != "group" || l.Annotations[groupAnnotation] != defaultGroup {
		t.Errorf("labels are %q, annotations %q", l.Labels, l.Annotations)
	}

	for _, name := range slices.Clone(s.zones) {
		s.remove(name)
	}
	s.eventually("the Lease is deleted with its group", func(now present) error {
		if len(now.leases) > 0 {
			return fmt.Errorf("there is %q", sortedKeys(now.leases))
		}
		return nil
	})
}

func TestALeaseHeldByAPersonIsRespectedUntilItExpires(t *testing.T) {
	t.Parallel()
	managed(t).respectsAHoldByHand()
}

func (s *scene) respectsAHoldByHand() {
	s.t.Helper()
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2))
	s.settledSoon()
	s.holdsByHand(never)
	s.eventually("the observer receives it", func(now present) error {
		if free(now) == nil {
			return errors.New("not yet")
		}
		return nil
	})
	before := len(s.deletions())
	s.changeAll(version(3))
	s.awaitEvent("Normal", "GroupHeld", "zone-a")
	expiry := s.holdsByHand(10 * time.Second) // starts now, independently of the time until here
	s.settled()
	if first := s.disruptions()[before]; first.At.Before(expiry) || first.At.After(expiry.Add(byTimer)) {
		s.t.Errorf("%s was deleted at %s, the Lease expired at %s", first.Pod, first.At, expiry)
	}
}

// holdsByHand makes a person hold the group from now on, and returns the expiry.
func (s *scene) holdsByHand(d time.Duration) time.Time {
	s.t.Helper()
	taken := metav1.NowMicro()
	s.editLease(func(l *coordinationv1.Lease) {
		l.Spec.HolderIdentity, l.Spec.RenewTime = new("manual/maintenance"), &taken
		l.Spec.LeaseDurationSeconds = new(int32(d / time.Second))
	})
	return taken.Add(d)
}

func TestAGroupWithoutANameIsManagedAndReported(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2, inGroup("")), zone("zone-b", 2, inGroup("")))
	s.changeAll(version(2))
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
	s.lease(hashedName(""))
	s.awaitEvent("Warning", "EmptyGroupName", "zone-a")
	if code, body := s.operator.get("/debug/groups/" + s.name + "/"); code != 200 {
		t.Errorf("its record is answered with %d: %s", code, body)
	}
}

func TestAGroupWhoseNameIsNoObjectNameIsManaged(t *testing.T) {
	t.Parallel()
	const name = "My_Group.A"
	s := managed(t)
	s.create(zone("zone-a", 2, inGroup(name)), zone("zone-b", 2, inGroup(name)))
	s.changeAll(version(2))
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
	if got := s.lease(hashedName(name)).Annotations[groupAnnotation]; got != name {
		t.Errorf("the Lease is that of group %q", got)
	}
}

func hashedName(group string) string {
	sum := sha256.Sum256([]byte(group))
	return "lockstep-group." + hex.EncodeToString(sum[:])[:32]
}
