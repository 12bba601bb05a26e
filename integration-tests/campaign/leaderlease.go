package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// leadershipDeleted deletes the Lease of the leader election.
func leadershipDeleted(random *rand.Rand) fault {
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second)}
	f.description = fmt.Sprintf("after %s the Lease of leadership is deleted", f.at)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		return retry(ctx, "delete the Lease of leadership", func(ctx context.Context) error {
			err := t.client.CoordinationV1().Leases(t.namespace).Delete(ctx, judge.LeaderLease, metav1.DeleteOptions{})
			return ignoreMissing(t.countUnless(err, "leadership deleted"))
		})
	}
	return f
}

// otherHolder is a holder of the leader Lease that is no operator.
const otherHolder = "a stranger"

// leadershipStolen gives the leader Lease to another holder, which does not renew it.
func leadershipStolen(random *rand.Rand) fault {
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second)}
	f.description = fmt.Sprintf("after %s a stranger takes the Lease of leadership", f.at)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		leases := t.client.CoordinationV1().Leases(t.namespace)
		return retry(ctx, "take the Lease of leadership", func(ctx context.Context) error {
			lease, err := leases.Get(ctx, judge.LeaderLease, metav1.GetOptions{})
			if err != nil {
				return err
			}
			now := metav1.NowMicro()
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new(otherHolder), new(int32(5))
			lease.Spec.AcquireTime, lease.Spec.RenewTime = &now, &now
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
			return t.countUnless(err, "leadership taken by a stranger")
		})
	}
	return f
}
