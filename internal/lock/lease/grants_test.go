package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// grantedAt returns a hold with the intent of an eviction that was granted at a time.
func grantedAt(at time.Time) group.Hold {
	record := held("eviction/zone-a", "zone-a-0")
	record.Intents[0].Cause, record.Intents[0].Since = reason.EvictionGranted, at.UTC().Truncate(time.Millisecond)
	return record
}

// known returns for how long this process has known the only grant.
func (r *room) known() time.Duration {
	r.Helper()
	record := r.Cached(store)
	if len(record.Intents) != 1 {
		r.Fatalf("the hold records %+v", record.Intents)
	}
	return record.Intents[0].Known
}

func TestAGrantIsKnownSinceThisProcessHasSeenItFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		grant := grantedAt(time.Now().Add(-time.Hour)) // by another process, whose clock may be wrong
		r.write(grant)
		if got := r.known(); got != 0 {
			t.Errorf("known for %s as soon as it is seen", got)
		}
		time.Sleep(plan.GrantLimit / 2)
		r.write(grant) // a renewal
		time.Sleep(plan.GrantLimit / 2)
		if got := r.known(); got != plan.GrantLimit {
			t.Errorf("known for %s, want %s", got, plan.GrantLimit)
		}
	})
}

// After the API server has given up on the first request, it may work on a second request for the full time
// limit.
func TestARepeatedGrantIsANewGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.write(grantedAt(time.Now()))
		r.known()
		time.Sleep(plan.GrantLimit - time.Second)
		r.write(grantedAt(time.Now()))
		if got := r.known(); got != 0 {
			t.Errorf("known for %s, want 0s", got)
		}
	})
}

// Two evictions of a pod may be granted within a millisecond, each at another version of the pod.
func TestAGrantAtALaterVersionIsANewGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		grant := grantedAt(time.Now())
		r.write(grant)
		r.known()
		time.Sleep(plan.GrantLimit - time.Second)
		grant.Intents[0].Version++
		r.write(grant)
		if got := r.known(); got != 0 {
			t.Errorf("known for %s, want 0s", got)
		}
	})
}
