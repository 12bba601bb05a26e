package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// The time in the Lease comes from the clock of the process that renews it, which may be an hour slow.
func TestRenewalsOfANewerVersionAreTimedByTheProcessThatSeesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		anHourAgo := time.Now().Add(-time.Hour)
		r.write(group.Hold{Hold: plan.Hold{Holder: "progressive/web", Renewed: anHourAgo, Duration: hold.Duration}})
		for _, wait := range []time.Duration{0, 40 * time.Second, 19 * time.Second} {
			time.Sleep(wait)
			if r.Cached(store).Lapsed(time.Now()) {
				t.Fatalf("the hold lapses %v after its last renewal was seen", r.Cached(store).Unrenewed)
			}
		}
		r.show(r.server.change(stored, func(l *coordinationv1.Lease) bool {
			l.Spec.RenewTime = &metav1.MicroTime{Time: anHourAgo.Add(time.Minute)}
			return true
		}))
		r.Cached(store)
		time.Sleep(59 * time.Second)
		if r.Cached(store).Lapsed(time.Now()) {
			t.Error("the hold lapses although it was renewed")
		}
		time.Sleep(time.Second)
		if !r.Cached(store).Lapsed(time.Now()) {
			t.Error("the hold does not lapse although no renewal has been seen for a minute")
		}
	})
}
