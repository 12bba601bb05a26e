package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// The goals for the change of leader, as seen from outside.
const (
	mostAfterKill = 17 * time.Second
	mostHandOver  = 2 * time.Second
)

// slowReady leaves time to end a leader between two steps.
const slowReady = 200 * time.Millisecond

// failovers measures how long a rollout stands still when the leader ends. The
// process that rolled alone leads; the one that is started beside it stands by.
func (b *bench) failovers(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "failover", func(ctx context.Context, a *arena) ([]row, error) {
		r := a.racers[1]
		namespaces, err := a.makeNamespaces(ctx, r, 1)
		if err != nil {
			return nil, err
		}
		groups := newGroups(namespaces, r.name, "store-", 1, a.settings.rollout.pods)
		groups[0].annotations = map[string]string{localcluster.ReadyAfter: slowReady.String()}
		if err := a.makeGroups(ctx, groups); err != nil {
			return nil, err
		}
		if err := a.start(ctx, r, namespaces...); err != nil {
			return nil, err
		}
		if _, err := a.roll(ctx, r, groups, nil); err != nil {
			return nil, err
		}
		kills, err := a.standstills(ctx, r, groups, a.failover.kills, "killed", func(p *process) error { p.kill(); return nil })
		if err != nil {
			return nil, err
		}
		handOvers, err := a.standstills(ctx, r, groups, a.failover.handOvers, "stopped", func(p *process) error { return p.stop(ctx) })
		if err != nil {
			return nil, err
		}
		return []row{
			failoverRow("leader killed to next delete", kills, mostAfterKill),
			failoverRow("leader asked to stop to next delete", handOvers, mostHandOver),
		}, nil
	})
}

// standstills ends the leader in the middle of a rollout, several times, and
// returns how long it took each time until the next pod was deleted.
func (a *arena) standstills(ctx context.Context, r *racer, groups []*group, count int, how string, end func(*process) error) ([]time.Duration, error) {
	var all []time.Duration
	for n := range count {
		if err := a.start(ctx, r, groups[0].namespace); err != nil {
			return nil, err
		}
		leader := r.processes[0]
		r.processes = r.processes[1:]
		var at time.Time
		ended := make(chan error, 1)
		result, err := a.roll(ctx, r, groups, func(down int) {
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
		next := slices.IndexFunc(result.deeds, func(d deed) bool { return d.sent.After(at) })
		if next < 0 {
			return nil, fmt.Errorf("no pod was left to delete after the leader was %s", how)
		}
		all = append(all, result.deeds[next].sent.Sub(at))
		a.say("leader %s, %d of %d: next delete after %s", how, n+1, count, seconds(all[n]))
	}
	return all, nil
}

// failoverRow is judged by the slowest one.
func failoverRow(what string, took []time.Duration, most time.Duration) row {
	r := row{what: what, goal: fmt.Sprintf("≤ %.0f s", most.Seconds()), cells: map[string]string{lockstepName: "not measured"}}
	if len(took) > 0 {
		r.what += fmt.Sprintf(", median, least and largest of %d", len(took))
		r.cells[lockstepName] = fmt.Sprintf("%s, %s to %s", seconds(median(took)), seconds(slices.Min(took)), seconds(slices.Max(took)))
		r.met = verdictOf(slices.Max(took) <= most)
	}
	return r
}
