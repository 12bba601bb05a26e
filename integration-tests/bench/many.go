package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// maxStepP99Rolling is the goal while all groups roll.
const maxStepP99Rolling = 250 * time.Millisecond

// manyAtOnce measures many groups in many namespaces that roll at the same time. The floor is one bare
// loop for each group. It is omitted if pods take time to become ready, because that time would
// dominate.
func (b *bench) manyAtOnce(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "many", func(ctx context.Context, tb *testbed) ([]row, error) {
		if tb.many.start > 0 {
			tb.contenders = tb.contenders[1:]
		}
		groups := map[string][]*group{}
		for _, c := range tb.contenders {
			namespaces, err := tb.makeNamespaces(ctx, c, min(tb.many.namespaces, tb.many.groups))
			if err != nil {
				return nil, err
			}
			groups[c.name] = newGroups(namespaces, c.name, "store-", tb.many.groups, tb.many.pods)
			for _, g := range groups[c.name] {
				g.annotations = tb.many.annotations()
			}
			if err := tb.makeGroups(ctx, groups[c.name]); err != nil {
				return nil, err
			}
			if err := tb.start(ctx, c, namespaces...); err != nil {
				return nil, err
			}
		}
		all, err := tb.turns(ctx, fmt.Sprintf("%d groups at once", tb.many.groups), tb.contenders, groups, tb.many.firstRun(), tb.many.runs)
		if err != nil {
			return nil, err
		}
		return tb.many.rows(all), nil
	})
}

func (s manySizes) rows(all map[string]series) []row {
	own := all[lockstepName].latencies()
	goal, met := fmt.Sprintf("p99 ≤ %d ms", maxStepP99Rolling.Milliseconds()), verdictOf(quantile(own, 0.99) <= maxStepP99Rolling)
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

// firstRun returns the number of the first run. Run 0 is not counted, and it is omitted if pods take
// time to become ready.
func (s manySizes) firstRun() int {
	if s.start > 0 {
		return 1
	}
	return 0
}

// annotations delay the readiness of pods.
func (s manySizes) annotations() map[string]string {
	if s.start <= 0 {
		return nil
	}
	return map[string]string{localcluster.ReadyAfter: s.start.String(), localcluster.ReadyWithin: (3 * s.start).String()}
}
