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

// budgetAnnotation is an annotation that every evaluation of a group reads.
const budgetAnnotation = "rollout-max-unavailable"

// changeLoad is the load of changes in a namespace.
type changeLoad struct {
	changes  atomic.Int64
	began    time.Time
	duration time.Duration
}

// rate returns the changes per second.
func (n *changeLoad) rate() float64 { return float64(n.changes.Load()) / n.duration.Seconds() }

// noisyNeighbour measures the only group of a quiet namespace, alone and next to a namespace with
// hundreds of changes a second. lockstep must evaluate these changes, but rolls nothing, so the
// machine has more capacity left than next to groups that roll. The floor rolls in a third namespace
// during the same changes.
func (b *bench) noisyNeighbour(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "noisy", func(ctx context.Context, tb *testbed) ([]row, error) {
		loads, rates := map[string]*changeLoad{}, map[string]float64{}
		alone, disturbed, err := tb.measureQuietGroup(ctx, func(c *contender, namespaces []string) []*group {
			return newGroups(namespaces, c.name+"-loud", "loud-", tb.noisy.groups, 1)
		}, func(c *contender, groups []*group) disturbance {
			loads[c.name] = &changeLoad{}
			return disturbance{
				what: fmt.Sprintf("a namespace with %d changes a second", tb.noisy.rate), runs: tb.noisy.runs,
				begin: func(ctx context.Context) *sync.WaitGroup { return tb.changeBudgets(ctx, groups, loads[c.name]) },
			}
		})
		if err != nil {
			return nil, err
		}
		for name, n := range loads {
			rates[name] = n.rate()
		}
		return noisyRows(tb.noisy.rate, alone, disturbed, rates), nil
	})
}

// changeBudgets changes the budget of the zones of all groups in turn until ctx ends, at the wanted
// rate or as fast as the API server answers maxConcurrentWrites requests.
func (tb *testbed) changeBudgets(ctx context.Context, groups []*group, load *changeLoad) *sync.WaitGroup {
	var all sync.WaitGroup
	due := make(chan int)
	load.began = time.Now()
	all.Go(func() {
		defer close(due)
		defer func() { load.duration = time.Since(load.began) }()
		ticker := time.NewTicker(time.Second / time.Duration(tb.noisy.rate))
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ticker.C:
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
	for range maxConcurrentWrites {
		all.Go(func() {
			for n := range due {
				if err := tb.changeBudget(ctx, groups[n%len(groups)], n/len(groups)); err != nil && ctx.Err() == nil {
					tb.abort(err)
					return
				}
				load.changes.Add(1)
			}
		})
	}
	return &all
}

// changeBudget sets a budget in one zone of the group that differs from the budget of the previous
// round.
func (tb *testbed) changeBudget(ctx context.Context, g *group, round int) error {
	zone := g.zoneNames()[round%g.zones]
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, budgetAnnotation, 1+round/g.zones%2)
	if _, err := tb.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("change budget of %s/%s: %w", g.namespace, zone, err)
	}
	return nil
}

func noisyRows(rate int, alone, disturbed map[string]series, rates map[string]float64) []row {
	slowdown := func(name string, q float64) float64 {
		return quantile(disturbed[name].latencies(), q).Seconds() / max(quantile(alone[name].latencies(), q).Seconds(), 1e-6)
	}
	fair := slowdown(lockstepName, 0.99) <= maxSlowdown*max(slowdown(floorName, 0.99), 1)
	return []row{
		rowOf("quiet group alone: Ready to next delete, audit log, p50 / p99", "", noGoal, alone, latencyCell),
		rowOf(fmt.Sprintf("the same beside a namespace with up to %d changes a second", rate), "", noGoal, disturbed, latencyCell),
		rowOf("p50 / p99 beside it, times alone", slowdownGoal(), verdictOf(fair), disturbed, func(name string, _ series) string {
			return fmt.Sprintf("%.2f / %.2f", slowdown(name, 0.5), slowdown(name, 0.99))
		}),
		rowOf("changes a second that were made", "", noGoal, rates, func(_ string, made float64) string { return fmt.Sprintf("%.0f", made) }),
	}
}
