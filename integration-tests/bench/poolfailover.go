package main

import (
	"context"
	"fmt"
	"time"
)

// poolFailovers measures how long a StatefulCluster gets no further pods when the leader ends while replicas are raised.
func (b *bench) poolFailovers(ctx context.Context) ([]row, error) {
	return b.withPools(ctx, "pool-failover", func(ctx context.Context, pb *poolBench) ([]row, error) {
		c := pb.contenders[1]
		kills, err := pb.interruptions(ctx, c, pb.failover.kills, "killed", func(p *process) error { p.kill(); return nil })
		if err != nil {
			return nil, err
		}
		stops, err := pb.interruptions(ctx, c, pb.failover.stops, "stopped", func(p *process) error { return p.stop(ctx) })
		if err != nil {
			return nil, err
		}
		return []row{
			failoverRow("pool failover: leader killed while replicas are raised, longest time without a write", kills, maxAfterKill),
			failoverRow("pool failover: leader asked to stop meanwhile, longest time without a write", stops, maxAfterStop),
		}, nil
	})
}

// interruptions ends the leader when half of the pods are ready, several times. It returns the longest time without a
// write for the other half, for each.
func (pb *poolBench) interruptions(ctx context.Context, c *poolContender, count int, how string, end func(*process) error) ([]time.Duration, error) {
	var all []time.Duration
	for n := range count {
		if err := pb.start(ctx, c.contender, c.pool.namespace); err != nil {
			return nil, err
		}
		leader := c.processes[0]
		c.processes = c.processes[1:]
		var at time.Time
		ended := make(chan error, 1)
		pods := pb.settings.pool.pods
		result, err := pb.runPool(ctx, c,
			func() error { return c.keeper.scale(ctx, c.pool, pods) },
			func(v *poolView) bool {
				if at.IsZero() && v.count(func(p poolPod) bool { return p.ready }) >= pods/2 {
					at = time.Now()
					go func() { ended <- end(leader) }()
				}
				return v.ready(pods)
			})
		if err != nil {
			return nil, err
		}
		if err := <-ended; err != nil {
			return nil, err
		}
		longest, found := result.longestPause(at)
		if !found {
			return nil, fmt.Errorf("no pod remained to be created after the leader was %s", how)
		}
		all = append(all, longest)
		pb.report("pool failover: leader %s, %d of %d: %s without a write", how, n+1, count, seconds(longest))
		if err := pb.empty(ctx, c); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// longestPause returns the longest time without a write for an identity after a moment, and whether there was such a write.
func (r poolRun) longestPause(since time.Time) (longest time.Duration, found bool) {
	for _, q := range r.writes {
		if q.code < 300 && isOfBirth(q) && q.at.After(since) {
			longest, since, found = max(longest, q.at.Sub(since)), q.at, true
		}
	}
	return longest, found
}
