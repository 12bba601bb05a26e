package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// mostStepP99Rolling is the goal while all groups roll.
const mostStepP99Rolling = 250 * time.Millisecond

// manyAtOnce measures many groups in many namespaces that roll at the same time. The
// floor is one bare loop for each group; it does not take part where pods take their time,
// which would be most of what it takes.
func (b *bench) manyAtOnce(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "many", func(ctx context.Context, a *arena) ([]row, error) {
		if a.many.start > 0 {
			a.racers = a.racers[1:]
		}
		groups := map[string][]*group{}
		for _, r := range a.racers {
			namespaces, err := a.makeNamespaces(ctx, r, min(a.many.namespaces, a.many.groups))
			if err != nil {
				return nil, err
			}
			groups[r.name] = newGroups(namespaces, r.name, "store-", a.many.groups, a.many.pods)
			for _, g := range groups[r.name] {
				g.annotations = a.many.annotations()
			}
			if err := a.makeGroups(ctx, groups[r.name]); err != nil {
				return nil, err
			}
			if err := a.start(ctx, r, namespaces...); err != nil {
				return nil, err
			}
		}
		all, err := a.turns(ctx, fmt.Sprintf("%d groups at once", a.many.groups), a.racers, groups, a.many.first(), a.many.runs)
		if err != nil {
			return nil, err
		}
		return a.many.rows(all), nil
	})
}

func (s manySizes) rows(all map[string]series) []row {
	own := all[lockstepName].latencies()
	goal, met := fmt.Sprintf("p99 ≤ %d ms", mostStepP99Rolling.Milliseconds()), verdictOf(quantile(own, 0.99) <= mostStepP99Rolling)
	groups := fmt.Sprintf("%d groups of %d pods in %d namespaces at once", s.groups, 3*s.pods, s.namespaces)
	if s.start > 0 {
		what := fmt.Sprintf("%s, pods Ready after %.0f to %.0f s: Ready to next delete, audit log, p50 / p99 of %d", groups, s.start.Seconds(), 3*s.start.Seconds(), len(own))
		return []row{rowOf(what, goal, met, all, latencyCell)}
	}
	return []row{
		totalsRow(groups, all, 0),
		rowOf(fmt.Sprintf("Ready to next delete among them, audit log, p50 / p99 of %d", len(own)), goal, met, all, latencyCell),
	}
}

// first is the number of the first turn: pods that take their time take too much of it for
// one that is not counted.
func (s manySizes) first() int {
	if s.start > 0 {
		return 1
	}
	return 0
}

// annotations let pods take their time.
func (s manySizes) annotations() map[string]string {
	if s.start <= 0 {
		return nil
	}
	return map[string]string{localcluster.ReadyAfter: s.start.String(), localcluster.ReadyWithin: (3 * s.start).String()}
}
