package apiserver_test

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// A replica that only answers webhooks observes the new pods of a zone before it observes that the
// zone was scaled up. The budget counts these pods nevertheless.
func TestAReplicaThatSeesARaiseLateKeepsTheBudget(t *testing.T) {
	t.Parallel()
	e := answeredLate(t, "statefulsets", 12*time.Second)

	e.create(zone("zone-a", 1, removedAfter(9*time.Second)))
	e.eventually("the replica sees the zone", func(present) error { return e.evictOnTrial("zone-a-0") })
	if err := e.evicts(t.Context(), "zone-a-0", nil); err != nil {
		t.Fatal(err)
	}
	e.change("zone-a", replicas(2))
	e.eventually("the new pod serves", func(now present) error {
		if pod := now.pods["zone-a-1"]; pod == nil || !judge.PodOf(pod).Serving() {
			return errors.New("not yet")
		}
		return nil
	})
	if err := e.evicts(t.Context(), "zone-a-1", nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("eviction of zone-a-1 while zone-a-0 is down: got %v, want 429", err)
	}
	e.eventually("its turn begins", func(present) error { return e.evicts(t.Context(), "zone-a-1", nil) })
	e.settled()
}
