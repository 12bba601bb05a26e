package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// These are the goals for the change of the leader, as clients observe it.
const (
	maxAfterKill = 17 * time.Second
	maxAfterStop = 2 * time.Second
)

// failoverReadyDelay leaves time to end a leader between two steps.
const failoverReadyDelay = 200 * time.Millisecond

// failovers measures how long a rollout is interrupted when the leader ends. The process of the first
// rollout is the leader; the second process is its standby.
func (b *bench) failovers(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "failover", func(ctx context.Context, tb *testbed) ([]row, error) {
		c := tb.contenders[1]
		namespaces, err := tb.makeNamespaces(ctx, c, 1)
		if err != nil {
			return nil, err
		}
		groups := newGroups(namespaces, c.name, "store-", 1, tb.settings.rollout.pods)
		groups[0].annotations = map[string]string{localcluster.ReadyAfter: failoverReadyDelay.String()}
		if err := tb.makeGroups(ctx, groups); err != nil {
			return nil, err
		}
		if err := tb.start(ctx, c, namespaces...); err != nil {
			return nil, err
		}
		if _, err := tb.roll(ctx, c, groups, nil); err != nil {
			return nil, err
		}
		kills, err := tb.measureInterruptions(ctx, c, groups, tb.failover.kills, "killed", func(p *process) error { p.kill(); return nil })
		if err != nil {
			return nil, err
		}
		stops, err := tb.measureInterruptions(ctx, c, groups, tb.failover.stops, "stopped", func(p *process) error { return p.stop(ctx) })
		if err != nil {
			return nil, err
		}
		return []row{
			failoverRow("leader killed to next delete", kills, maxAfterKill),
			failoverRow("leader asked to stop to next delete", stops, maxAfterStop),
		}, nil
	})
}

// measureInterruptions ends the leader in the middle of a rollout, several times. It returns the time
// until the next deletion for each.
func (tb *testbed) measureInterruptions(ctx context.Context, c *contender, groups []*group, count int, how string, end func(*process) error) ([]time.Duration, error) {
	var all []time.Duration
	for n := range count {
		if err := tb.start(ctx, c, groups[0].namespace); err != nil {
			return nil, err
		}
		leader := c.processes[0]
		c.processes = c.processes[1:]
		var at time.Time
		ended := make(chan error, 1)
		result, err := tb.roll(ctx, c, groups, func(down int) {
			if down == groups[0].size()/2 {
				at = time.Now()
				go func() { ended <- end(leader) }()
			}
		})
		if err != nil {
			return nil, err
		}
		if err := <-ended; err != nil {
			return nil, err
		}
		next := slices.IndexFunc(result.deletions, func(d deletion) bool { return d.sent.After(at) })
		if next < 0 {
			return nil, fmt.Errorf("no pod remained to be deleted after the leader was %s", how)
		}
		all = append(all, result.deletions[next].sent.Sub(at))
		tb.report("leader %s, %d of %d: next delete after %s", how, n+1, count, seconds(all[n]))
	}
	return all, nil
}

// failoverRow compares the slowest change with the goal.
func failoverRow(what string, took []time.Duration, limit time.Duration) row {
	r := row{what: what, goal: fmt.Sprintf("≤ %.0f s", limit.Seconds()), cells: map[string]string{lockstepName: "not measured"}}
	if len(took) > 0 {
		r.what += fmt.Sprintf(", median, least and largest of %d", len(took))
		r.cells[lockstepName] = fmt.Sprintf("%s, %s to %s", seconds(median(took)), seconds(slices.Min(took)), seconds(slices.Max(took)))
		r.met = verdictOf(slices.Max(took) <= limit)
	}
	return r
}
