package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	maxBirthRatio    = 1.3 // times the floor
	maxShrinkRatio   = 1.6
	claimsOfIdentity = 1
)

// measureSizes scales the pools from nothing to all of their pods, and then down to some.
func (pb *poolBench) measureSizes(ctx context.Context) ([]row, error) {
	shrinks := map[string]poolSeries{}
	sizes := pb.settings.pool
	births, err := pb.inTurns(pb.contenders, sizes.runs, "pool birth", func(c *poolContender) (poolRun, error) {
		born, err := pb.scale(ctx, c, sizes.pods)
		if err != nil {
			return born, err
		}
		if err := pb.awaitNoWritesOf(ctx, c); err != nil {
			return born, err
		}
		if pb.measures("pool-shrink") {
			shrunk, err := pb.scale(ctx, c, sizes.left)
			if err != nil {
				return born, err
			}
			shrinks[c.name] = append(shrinks[c.name], shrunk)
			pb.report("pool shrink: %-11s %s", c.name, seconds(shrunk.total))
		}
		return born, pb.empty(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	rows := birthRows(sizes.pods, births)
	if pb.measures("pool-shrink") {
		for name, s := range shrinks {
			shrinks[name] = s[1:]
		}
		rows = append(rows, shrinkRows(sizes.pods, sizes.left, shrinks)...)
	}
	return rows, nil
}

func birthRows(pods int, all map[string]poolSeries) []row {
	rollouts := rolloutsOf(all)
	total := totalsRow(fmt.Sprintf("pool birth: 0 to %d identities with a claim each, all Ready", pods), rollouts, maxBirthRatio)
	total.goal += ", ≤ " + statefulSetName
	if median(ratios(rollouts[lockstepName].totals(), rollouts[statefulSetName].totals())) > 1 {
		total.met = missed
	}
	own := all[lockstepName]
	written := 0.0
	for _, r := range own {
		written = max(written, r.writesOfBirth(pods))
	}
	return []row{
		total,
		rowOf(fmt.Sprintf("pool birth: writes for an identity with %d claim", claimsOfIdentity), fmt.Sprint(claimsOfIdentity+2), verdictOf(written == claimsOfIdentity+2), map[string]poolSeries{lockstepName: own},
			func(string, poolSeries) string { return fmt.Sprintf("%.2f", written) }),
		rowOf("pool birth: other writes for all of them", "", noGoal, map[string]poolSeries{lockstepName: own}, func(_ string, s poolSeries) string {
			var others []int
			for _, r := range s {
				others = append(others, r.count(func(q request) bool { return !isOfBirth(q) }))
			}
			return fmt.Sprintf("%d, at most %d", median(others), slices.Max(others))
		}),
		rowOf("pool birth: CPU of the operator for an identity", "", noGoal, map[string]series{lockstepName: rollouts[lockstepName]}, func(_ string, s series) string {
			return milliseconds(s.cpu() / time.Duration(pods))
		}),
	}
}

// isOfBirth reports whether a write is one that each identity needs: its pod, its claims and its gate.
func isOfBirth(q request) bool {
	return is("create", "pods")(q) || is("create", "persistentvolumeclaims")(q) || is("patch", "pods")(q)
}

// writesOfBirth returns the writes for each identity.
func (r poolRun) writesOfBirth(pods int) float64 { return float64(r.count(isOfBirth)) / float64(pods) }

func shrinkRows(from, to int, all map[string]poolSeries) []row {
	exact := true
	rows := []row{
		totalsRow(fmt.Sprintf("pool shrink: %d to %d identities, all others gone", from, to), rolloutsOf(all), maxShrinkRatio),
		rowOf("pool shrink: pods deleted, least and largest", fmt.Sprint(from-to), noGoal, all, func(name string, s poolSeries) string {
			var deleted []int
			for _, r := range s {
				deleted = append(deleted, r.count(is("delete", "pods")))
			}
			if name == lockstepName {
				exact = slices.Min(deleted) == from-to && slices.Max(deleted) == from-to
			}
			return fmt.Sprintf("%d, %d", slices.Min(deleted), slices.Max(deleted))
		}),
	}
	rows[1].met = verdictOf(exact)
	return rows
}
