package lease_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestALeaseRemembersRollouts(t *testing.T) {
	r := newRoom(t)
	record := held("rollout/zone-a")
	record.Rollouts.Current = plan.RolledGroup{Since: fixture.Now(), Zones: []plan.RolledZone{{Name: "zone-a", UID: "u", To: "2", Since: fixture.Now()}}}
	r.write(record)
	for how, got := range map[string]group.Hold{"as it was written": group.HoldOf(r.Cached(store)), "as it is read": r.read()} {
		if diff := cmp.Diff(record.Rollouts, got.Rollouts); diff != "" {
			t.Errorf("%s (-want +got)\n%s", how, diff)
		}
	}
	r.write(held("rollout/zone-a"))
	if got := r.Cached(store).Rollouts; got.Current.Begun() {
		t.Errorf("a dropped rollout is still recorded: %+v", got)
	}
}

// Any client that may write Leases can write any text into them. Unreadable rollouts must not block the
// group.
func TestUnreadableRolloutsBlockNoOperation(t *testing.T) {
	r := newRoom(t)
	r.write(held("rollout/zone-a", "zone-a-0"))
	r.show(r.server.change(stored, func(l *coordinationv1.Lease) bool {
		l.Annotations[contract.RolloutsAnnotation] = `{"version":7}`
		return true
	}))
	got := r.Cached(store)
	if got.Unreadable != "" || len(got.Intents) != 1 || got.Rollouts.Current.Begun() {
		t.Fatalf("got %+v", got)
	}
	r.write(group.HoldOf(got))
	if text, still := r.server.stored(stored).Annotations[contract.RolloutsAnnotation]; still {
		t.Errorf("the unreadable text is still on the Lease: %s", text)
	}
}
