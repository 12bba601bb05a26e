package pool_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// atRest returns a pool of that many available pods, with one claim each.
func atRest(pods int, keep pool.KeepPolicy) pool.Snapshot {
	s := pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "web"}, Now: start, ObjectsAt: 100, PodsAt: 100, ClaimsAt: 100,
		Object:    pool.Object{UID: objectUID, Hash: "1", Replicas: pods, Keep: keep, RevisionHistory: 10, Strategy: pool.Strategy{MaxUnavailable: pool.Share{Pods: 1}, Policy: pool.InPlaceIfPossible}},
		Revisions: []pool.Revision{{Name: "1", Hash: "1", Number: 1}},
	}
	for n := range pods {
		id := pool.ID(fmt.Sprintf("%016x", n))
		claim := pool.ClaimName("web", "data", id)
		s.Pods = append(s.Pods, pool.Pod{ID: id, Owner: objectUID, Scheduled: true, Mounts: []pool.Mount{{Template: "data", Claim: claim}}, Pod: plan.Pod{
			Name: pool.PodName("web", id), UID: string(id), Version: 10, Revision: "1", Phase: plan.Ready, ReadySince: start.Add(-time.Hour),
		}})
		s.Claims = append(s.Claims, pool.Claim{Name: claim, UID: claim, Version: 8, ID: id, Template: "data", Pool: objectUID, From: string(id), Siblings: []string{"data"}})
	}
	return s
}

// A plan of 2,000 pods takes at most 5 ms (docs/performance.md).
func BenchmarkPlan(b *testing.B) {
	for name, keep := range map[string]pool.KeepPolicy{"new identities": {}, "kept identities": {OnDelete: true, OnEviction: true}} {
		for _, pods := range []int{200, 2000} {
			b.Run(fmt.Sprintf("%s, %d pods", name, pods), func(b *testing.B) {
				s := atRest(pods, keep)
				for b.Loop() {
					if steps := pool.Plan(s); len(steps) > 0 {
						b.Fatal(steps[0])
					}
				}
			})
		}
	}
}

// What a plan costs must not grow faster than the number of pods, for example by a search for each pod.
func TestAPlanOfTenTimesAsManyPodsAllocatesAtMostAboutTenTimesAsMuch(t *testing.T) {
	small, large := allocatedBy(atRest(200, pool.KeepPolicy{})), allocatedBy(atRest(2000, pool.KeepPolicy{}))
	if large > 15*small {
		t.Errorf("plans of 200 and of 2000 pods allocate %d and %d bytes", small, large)
	}
}

// allocatedBy returns how many bytes a plan allocates.
func allocatedBy(s pool.Snapshot) uint64 {
	const plans = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range plans {
		pool.Plan(s)
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / plans
}

// withEndedIdentities returns a pool of one available pod, and that many identities that have ended and left a claim each.
func withEndedIdentities(ended int) pool.Snapshot {
	s := atRest(1, pool.KeepPolicy{})
	for n := range ended {
		id := pool.ID(fmt.Sprintf("e%015x", n))
		claim := pool.ClaimName("web", "data", id)
		s.Claims = append(s.Claims, pool.Claim{Name: claim, UID: claim, Version: 8, ID: id, Template: "data", Pool: objectUID, Retired: true, Ended: start.Add(-time.Minute), Because: reason.ScaledDown})
	}
	return s
}

// BenchmarkPlanOfEndedIdentities plans pools with many identities that have ended: the time grows with their number, and not faster.
func BenchmarkPlanOfEndedIdentities(b *testing.B) {
	for _, ended := range []int{1_000, 10_000} {
		s := withEndedIdentities(ended)
		b.Run(fmt.Sprintf("%d", ended), func(b *testing.B) {
			for b.Loop() {
				pool.Plan(s)
			}
		})
	}
}
