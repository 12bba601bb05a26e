package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// budgetAnnotation is one that every look at a group depends on.
const budgetAnnotation = "rollout-max-unavailable"

// noise is what somebody makes in a namespace.
type noise struct {
	changes atomic.Int64
	began   time.Time
	lasted  time.Duration
}

// rate is how many changes there were in a second.
func (n *noise) rate() float64 { return float64(n.changes.Load()) / n.lasted.Seconds() }

// noisyNeighbour measures the one group of a quiet namespace, alone and beside a
// namespace in which something changes hundreds of times a second that lockstep has to
// look at, and that nobody has to roll: so the machine has more time left than beside
// groups that roll. The floor rolls in a third namespace beside the same noise.
func (b *bench) noisyNeighbour(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "noisy", func(ctx context.Context, a *arena) ([]row, error) {
		made, rates := map[string]*noise{}, map[string]float64{}
		alone, beside, err := a.quietBeside(ctx, func(r *racer, namespaces []string) []*group {
			return newGroups(namespaces, r.name+"-loud", "loud-", a.noisy.groups, 1)
		}, func(r *racer, loud []*group) disturbance {
			made[r.name] = &noise{}
			return disturbance{
				what: fmt.Sprintf("a namespace with %d changes a second", a.noisy.rate), runs: a.noisy.runs,
				begin: func(ctx context.Context) *sync.WaitGroup { return a.makeNoise(ctx, loud, made[r.name]) },
			}
		})
		if err != nil {
			return nil, err
		}
		for name, n := range made {
			rates[name] = n.rate()
		}
		return noisyRows(a.noisy.rate, alone, beside, rates), nil
	})
}

// makeNoise gives the zones of all groups another budget, in turn, until ctx ends: as
// many a second as are asked for, or as the API server can take of makersAtOnce.
func (a *arena) makeNoise(ctx context.Context, groups []*group, made *noise) *sync.WaitGroup {
	var all sync.WaitGroup
	due := make(chan int)
	made.began = time.Now()
	all.Go(func() {
		defer close(due)
		defer func() { made.lasted = time.Since(made.began) }()
		beat := time.NewTicker(time.Second / time.Duration(a.noisy.rate))
		defer beat.Stop()
		for n := 0; ; n++ {
			select {
			case <-beat.C:
			case <-ctx.Done():
				return
			}
			select {
			case due <- n:
			case <-ctx.Done():
				return
			}
		}
	})
	for range makersAtOnce {
		all.Go(func() {
			for n := range due {
				if err := a.changeBudget(ctx, groups[n%len(groups)], n/len(groups)); err != nil && ctx.Err() == nil {
					a.fail(err)
					return
				}
				made.changes.Add(1)
			}
		})
	}
	return &all
}

// changeBudget gives one zone of the group a budget that it did not have in the round
// before.
func (a *arena) changeBudget(ctx context.Context, g *group, round int) error {
	zone := g.zoneNames()[round%g.zones]
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, budgetAnnotation, 1+round/g.zones%2)
	if _, err := a.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("change budget of %s/%s: %w", g.namespace, zone, err)
	}
	return nil
}

func noisyRows(rate int, alone, beside map[string]series, rates map[string]float64) []row {
	worse := func(name string, q float64) float64 {
		return quantile(beside[name].latencies(), q).Seconds() / max(quantile(alone[name].latencies(), q).Seconds(), 1e-6)
	}
	fair := worse(lockstepName, 0.99) <= mostTimesIdle*max(worse(floorName, 0.99), 1)
	return []row{
		rowOf("quiet group alone: Ready to next delete, audit log, p50 / p99", "", unasked, alone, latencyCell),
		rowOf(fmt.Sprintf("the same beside a namespace with up to %d changes a second", rate), "", unasked, beside, latencyCell),
		rowOf("p50 / p99 beside it, times alone", besideGoal(), verdictOf(fair), beside, func(name string, _ series) string {
			return fmt.Sprintf("%.2f / %.2f", worse(name, 0.5), worse(name, 0.99))
		}),
		rowOf("changes a second that were made", "", unasked, rates, func(_ string, made float64) string { return fmt.Sprintf("%.0f", made) }),
	}
}
