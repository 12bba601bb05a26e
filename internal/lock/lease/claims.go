package lease

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Claim means that the hold of a group records a zone, or may record it.
type Claim struct {
	Key        plan.Key // of the group; only its namespace if the Lease names no group
	Lease      string   // the name of its Lease
	Unreadable bool     // the group or the recorded zones cannot be read
	Unlabelled bool     // the Lease lacks the label by which it is watched
}

// Owned reports whether the Lease names its group.
func (c Claim) Owned() bool { return c.Lease == hold.LeaseName(c.Key) }

// LiveRemembering reads from the API server the holds of a namespace that record a zone of that name. A hold
// that cannot be read may record any zone. Leases without the label count as well, and so does a Lease that
// has the name of a hold but does not name its group.
func (s *Store) LiveRemembering(ctx context.Context, namespace, zone string) ([]Claim, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	leases, err := s.client.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Leases of %s: %w", namespace, err)
	}
	var claims []Claim
	for i := range leases.Items {
		if claim, remembers := claimOn(&leases.Items[i], zone); remembers {
			claims = append(claims, claim)
		}
	}
	return claims, nil
}

// claimOn returns the claim of a Lease on a zone, if it has one.
func claimOn(lease *coordinationv1.Lease, zone string) (Claim, bool) {
	key, owned := KeyOf(lease)
	if !owned {
		key = plan.Key{Namespace: lease.Namespace}
	}
	zones, err := record.RememberedZones(lease.Annotations)
	remembers := err != nil || slices.Contains(zones, zone)
	claim := Claim{Key: key, Lease: lease.Name, Unreadable: !owned || err != nil, Unlabelled: lease.Labels[contract.HoldLabel] != contract.HoldLabelOf(key.Kind)}
	return claim, remembers && (owned || hold.IsLeaseName(lease.Name))
}
