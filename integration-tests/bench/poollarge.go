package main

import (
	"context"
	"fmt"
	"time"
)

// maxLargeRatio is the goal for the CPU time of a large pool, times that of a small one.
const maxLargeRatio = 1.5

// poolCPU is the CPU time of lockstep for one pool of a size.
type poolCPU struct {
	birth time.Duration // for each identity, from none to all
	hole  time.Duration // for each of the pods that are lost
}

// largePool compares a large pool with a small one, on a cluster of its own and in turns.
func (b *bench) largePool(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "pool-large", func(ctx context.Context, tb *testbed) ([]row, error) {
		pb, err := tb.poolBench(ctx)
		if err != nil {
			return nil, err
		}
		c := pb.contenders[1]
		if err := pb.addPool(ctx, c); err != nil {
			return nil, err
		}
		sizes := pb.settings.pool
		all := map[int][]poolCPU{}
		for n := range sizes.largeRuns + 1 {
			for _, pods := range []int{sizes.pods, sizes.large} {
				if n == 0 && pods == sizes.large {
					continue // the first one makes the process allocate what it needs
				}
				used, err := pb.measurePoolCPU(ctx, c, pods)
				if err != nil {
					return nil, err
				}
				pb.report("pool large, run %d of %d: %d identities, CPU %s for each, %s for a hole", n, sizes.largeRuns, pods, used.birth, used.hole)
				if n > 0 {
					all[pods] = append(all[pods], used)
				}
			}
		}
		return largePoolRows(sizes.pods, sizes.large, all), nil
	})
}

// measurePoolCPU fills a pool, takes some of its pods away, and empties it.
func (pb *poolBench) measurePoolCPU(ctx context.Context, c *poolContender, pods int) (poolCPU, error) {
	const holes = 20
	born, err := pb.scale(ctx, c, pods)
	if err != nil {
		return poolCPU{}, err
	}
	if err := pb.awaitNoWritesOf(ctx, c); err != nil {
		return poolCPU{}, err
	}
	before := c.cpu()
	for range holes {
		if _, err := pb.measureHole(ctx, c, pods); err != nil {
			return poolCPU{}, err
		}
	}
	used := poolCPU{birth: born.cpu / time.Duration(pods), hole: (c.cpu() - before) / holes}
	return used, pb.empty(ctx, c)
}

func largePoolRows(small, large int, all map[int][]poolCPU) []row {
	birth := func(u poolCPU) time.Duration { return u.birth }
	hole := func(u poolCPU) time.Duration { return u.hole }
	births := ratios(durations(all[large], birth), durations(all[small], birth))
	cell := func(of func(poolCPU) time.Duration) map[string]string {
		in := durations(all[large], of)
		return map[string]string{lockstepName: fmt.Sprintf("%s %s", milliseconds(median(in)), spread(ratios(in, durations(all[small], of))))}
	}
	return []row{
		{
			what: fmt.Sprintf("pool large: CPU for each birth from 0 to %d identities (times that to %d)", large, small),
			goal: fmt.Sprintf("≤ %.1f", maxLargeRatio), cells: cell(birth),
			met: verdictOf(len(births) > 0 && median(births) <= maxLargeRatio),
		},
		{what: fmt.Sprintf("pool large: CPU for a hole in %d identities (times that in %d)", large, small), cells: cell(hole)},
	}
}
