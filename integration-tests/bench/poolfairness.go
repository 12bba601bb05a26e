package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podsOfQuietPool is what the quiet pool asks for.
const podsOfQuietPool = 3

// fairnessBetweenPools measures how fast a small pool gets its pods, alone and while a pool of another namespace asks for very many.
// Those of the other contenders are measured beside the same births, which shows the slowdown of the machine.
func (b *bench) fairnessBetweenPools(ctx context.Context) ([]row, error) {
	return b.withPools(ctx, "pool-fairness", func(ctx context.Context, pb *poolBench) ([]row, error) {
		many, runs := pb.settings.pool.many, pb.settings.pool.fairRuns
		alone, err := pb.inTurns(pb.contenders, runs, "small pool alone", pb.bearAndEmpty(ctx))
		if err != nil {
			return nil, err
		}
		busy, err := pb.createBusyPool(ctx, many)
		if err != nil {
			return nil, err
		}
		if err := pause(ctx, settleBeforeMeasuring); err != nil {
			return nil, err
		}
		beside, err := pb.inTurns(pb.contenders, runs, "small pool beside the other", pb.bearAndEmpty(ctx))
		if err != nil {
			return nil, err
		}
		if err := pb.isIncomplete(ctx, busy, many); err != nil {
			return nil, err
		}
		return poolFairnessRows(many, rolloutsOf(alone), rolloutsOf(beside)), nil
	})
}

// bearAndEmpty returns the run that fills a small pool and empties it.
func (pb *poolBench) bearAndEmpty(ctx context.Context) func(*poolContender) (poolRun, error) {
	return func(c *poolContender) (poolRun, error) {
		born, err := pb.scale(ctx, c, podsOfQuietPool)
		if err != nil {
			return born, err
		}
		_, err = pb.scale(ctx, c, 0)
		return born, err
	}
}

// createBusyPool creates a StatefulCluster with very many pods in a namespace of its own.
func (pb *poolBench) createBusyPool(ctx context.Context, pods int) (*pool, error) {
	lockstep := pb.contenders[1]
	busy := &pool{namespace: namespacePrefix + "busy-pool", name: "db", contender: lockstep.name}
	labels := map[string]string{contenderLabel: lockstep.name, "lockstep.dev/enabled": "true"}
	if err := pb.makeNamespace(ctx, busy.namespace, labels); err != nil {
		return nil, err
	}
	return busy, clusterKeeper{pb.client}.createWith(ctx, busy, pods)
}

// isIncomplete returns an error if the busy pool has all of its pods, because then it was not busy until the end.
func (pb *poolBench) isIncomplete(ctx context.Context, busy *pool, pods int) error {
	const few = 1
	list, err := pb.testbed.client.CoreV1().Pods(busy.namespace).List(ctx, metav1.ListOptions{Limit: few})
	if err != nil {
		return fmt.Errorf("list pods of %s: %w", busy.namespace, err)
	}
	created := int64(len(list.Items))
	if list.RemainingItemCount != nil {
		created += *list.RemainingItemCount
	}
	pb.report("the busy pool has %d of %d pods", created, pods)
	if created >= int64(pods) {
		return fmt.Errorf("the busy pool had all of its %d pods before the end: set -pool.many higher", pods)
	}
	return nil
}

func poolFairnessRows(many int, alone, beside map[string]series) []row {
	slowdown := func(name string) float64 {
		return median(beside[name].totals()).Seconds() / median(alone[name].totals()).Seconds()
	}
	return []row{
		totalsRow(fmt.Sprintf("pool fairness: a pool of %d, none to all Ready, alone", podsOfQuietPool), alone, 0),
		totalsRow(fmt.Sprintf("pool fairness: the same while a pool of another namespace asks for %d", many), beside, 0),
		rowOf("pool fairness: beside it, times alone", fmt.Sprintf("≤ %.0f × the floor's, or ≤ %.0f", maxSlowdown, maxSlowdown),
			verdictOf(slowdown(lockstepName) <= maxSlowdown*max(slowdown(floorName), 1)), beside, func(name string, _ series) string {
				return fmt.Sprintf("%.2f", slowdown(name))
			}),
	}
}
