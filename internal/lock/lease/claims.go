package lease

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Claim says that the hold of a group remembers a zone, or may remember it.
type Claim struct {
	Key        plan.Key // of the group; of a Lease that does not say whose it is, its namespace alone
	Lease      string   // the name of its Lease
	Unreadable bool     // whose hold it is, or which zones it remembers, cannot be read
	Unlabelled bool     // no watch shows the Lease
}

// Owned reports whether the Lease says whose hold it is.
func (c Claim) Owned() bool { return c.Lease == hold.LeaseName(c.Key) }

// LiveRemembering returns the holds of a namespace that remember a zone of that name, by what the
// API server shows. A hold that cannot be read may remember any zone. A Lease that has the name of
// a hold and does not say whose it is counts, and so does one without its label.
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
	zones, err := membersOf(lease)
	remembers := err != nil || slices.ContainsFunc(zones, func(m plan.Member) bool { return m.Zone == zone })
	claim := Claim{Key: key, Lease: lease.Name, Unreadable: !owned || err != nil, Unlabelled: !watched(lease)}
	return claim, remembers && (owned || hold.IsLeaseName(lease.Name))
}
