package main

import (
	"context"
	"fmt"
)

// maxUpdateRatio is the goal for the duration of an update, times the floor.
const maxUpdateRatio = 1.6

// measureUpdates changes the template of each pool, whose pods are updated one at a time: by another
// pod with the same name and claim, or in place.
func (pb *poolBench) measureUpdates(ctx context.Context) ([]row, error) {
	pods := pb.settings.pool.updated
	if err := pb.scaleAll(ctx, pods); err != nil {
		return nil, err
	}
	var rows []row
	if pb.measures("pool-handover") {
		all, err := pb.inTurns(pb.contenders, pb.settings.pool.updates, "pool handover", func(c *poolContender) (poolRun, error) {
			c.pool.setting++
			return pb.update(ctx, c, pods)
		})
		if err != nil {
			return rows, err
		}
		rows = append(rows, updateRows("pool handover", fmt.Sprintf("%d pods replaced one at a time, names and claims kept", pods), all)...)
	}
	if pb.measures("pool-inplace") {
		all, err := pb.inTurns(pb.contenders[:2], pb.settings.pool.updates, "pool inplace", func(c *poolContender) (poolRun, error) {
			c.pool.image++
			return pb.update(ctx, c, pods)
		})
		if err != nil {
			return rows, err
		}
		rows = append(rows, updateRows("pool inplace", fmt.Sprintf("%d pods updated in place one at a time, with a simulated restart", pods), all)...)
	}
	return rows, nil
}

// update changes the template of a pool to its fields, and waits until all pods have it.
func (pb *poolBench) update(ctx context.Context, c *poolContender, pods int) (poolRun, error) {
	r, err := pb.runPool(ctx, c,
		func() error { return c.keeper.change(ctx, c.pool) },
		func(v *poolView) bool { return v.updated(c.pool, pods) })
	if err != nil {
		return r, err
	}
	if r.mostDown > 1 && c.name == lockstepName {
		return r, fmt.Errorf("%s had %d pods down at the same time, of which 1 is allowed", c.name, r.mostDown)
	}
	return r, pb.awaitNoWritesOf(ctx, c)
}

func updateRows(name, what string, all map[string]poolSeries) []row {
	rollouts := rolloutsOf(all)
	pods := func(r poolRun) int { return r.count(is("delete", "pods")) + r.count(is("patch", "pods")) }
	return []row{
		totalsRow(name+": "+what, rollouts, maxUpdateRatio),
		rowOf(name+": CPU of the operator for an update", "", noGoal, map[string]series{lockstepName: rollouts[lockstepName]}, func(_ string, s series) string {
			return milliseconds(s.cpu())
		}),
		rowOf(name+": writes for an update, of which deletes and patches of pods", "", noGoal, map[string]poolSeries{lockstepName: all[lockstepName]}, func(_ string, s poolSeries) string {
			last := s[len(s)-1]
			return fmt.Sprintf("%d, %d", last.count(func(request) bool { return true }), pods(last))
		}),
	}
}
