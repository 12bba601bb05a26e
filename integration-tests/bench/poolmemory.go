package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// These are the goals for the memory of pools in KB.
const (
	maxPerIdentity = 4.0
	maxPerPool     = 6.0 // beyond the template
	maxPerNode     = 0.5
)

// enablesPools is the flag that makes lockstep work on StatefulClusters.
const enablesPools = " -statefulcluster.enabled"

// poolFootprint is the memory of lockstep as pools come.
type poolFootprint struct {
	pools, identities, nodes int
	template                 int // bytes of the templates of a pool
	off, offWithPools        memoryUse
	none                     memoryUse // enabled, without pools
	withPools                memoryUse
	withIdentities           memoryUse
	withNodes                memoryUse
}

// poolMemory measures the memory of lockstep, on a cluster of its own: with the kind disabled and
// enabled, with pools that have no pods, with a pool of many identities, and with more nodes. Each
// figure is of a process that finds all of them there, and has nothing to do.
func (b *bench) poolMemory(ctx context.Context) ([]row, error) {
	if b.operator != "" {
		b.report("NOT MEASURED: memory of pools: the flag of -operator that enables them is unknown")
		return nil, nil
	}
	return b.withTestbed(ctx, "pool-memory", func(ctx context.Context, tb *testbed) ([]row, error) {
		pb, err := tb.poolBench(ctx)
		if err != nil {
			return nil, err
		}
		f, err := pb.measurePoolFootprint(ctx, pb.contenders[1])
		if err != nil {
			return nil, err
		}
		return f.rows(), nil
	})
}

func (pb *poolBench) measurePoolFootprint(ctx context.Context, c *poolContender) (poolFootprint, error) {
	sizes := pb.settings.pool
	f := poolFootprint{pools: sizes.memoryPools, identities: sizes.memoryPods, nodes: sizes.memoryNodes}
	namespaces, err := pb.makeNamespaces(ctx, c.contender, 1)
	if err != nil {
		return f, err
	}
	c.pool = &pool{namespace: namespaces[0], name: "db", contender: c.name}
	if f.template, err = c.pool.templateSize(); err != nil {
		return f, err
	}
	enabled, disabled := c.command, strings.TrimSuffix(c.command, enablesPools)
	for _, step := range []struct {
		use     *memoryUse // of a process that starts beside all objects; nil: it only works on them
		command string
		before  func(context.Context) error // carried out beside the process of the step before
		what    string
	}{
		{&f.none, enabled, nil, "no pools"},
		{&f.off, disabled, nil, "pools disabled"},
		{&f.offWithPools, disabled, func(ctx context.Context) error { return pb.addEmptyPools(ctx, c, f.pools) }, fmt.Sprint("pools disabled, beside ", f.pools)},
		{nil, enabled, nil, ""},
		{&f.withPools, enabled, nil, fmt.Sprint(f.pools, " pools without pods")},
		{&f.withIdentities, enabled, func(ctx context.Context) error { return pb.addIdentities(ctx, c, f.identities) }, fmt.Sprint(f.identities, " identities in addition")},
		{&f.withNodes, enabled, func(ctx context.Context) error { return pb.addNodes(ctx, f.nodes) }, fmt.Sprint(f.nodes, " nodes in addition")},
	} {
		if step.before != nil {
			if err := step.before(ctx); err != nil {
				return f, err
			}
		}
		if err := pb.awaitNoWrites(ctx); err != nil {
			return f, err
		}
		c.kill()
		c.command = step.command
		if err := pb.start(ctx, c.contender, namespaces...); err != nil {
			return f, err
		}
		if step.use == nil {
			continue
		}
		if *step.use, err = pb.measureCollected(ctx, c.contender, step.what); err != nil {
			return f, err
		}
	}
	return f, nil
}

// measureCollected is measureMemory after a collection of garbage.
func (pb *poolBench) measureCollected(ctx context.Context, c *contender, what string) (memoryUse, error) {
	if _, _, err := pb.awaitFullCaches(ctx, c, time.Now()); err != nil {
		return memoryUse{}, err
	}
	if err := pause(ctx, settleBeforeIdle); err != nil {
		return memoryUse{}, err
	}
	if _, err := c.processes[0].stats(ctx); err != nil {
		return memoryUse{}, err
	}
	return pb.measureMemory(ctx, c, what, pb.memory.settle)
}

// templateSize returns the bytes of the templates of pod and claim as JSON.
func (p *pool) templateSize() (int, error) {
	set := p.statefulSet()
	text, err := json.Marshal([]any{set.Spec.Template, set.Spec.VolumeClaimTemplates})
	return len(text), err
}

func (pb *poolBench) addEmptyPools(ctx context.Context, c *poolContender, count int) error {
	clusters := clusterKeeper{pb.client}
	for i := range count {
		p := &pool{namespace: c.pool.namespace, name: fmt.Sprint("empty-", i), contender: c.name}
		if err := clusters.create(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (pb *poolBench) addIdentities(ctx context.Context, c *poolContender, count int) error {
	if err := c.keeper.create(ctx, c.pool); err != nil {
		return err
	}
	_, err := pb.scale(ctx, c, count)
	return err
}

// addNodes creates nodes, as many at a time as are Ready soon.
func (pb *poolBench) addNodes(ctx context.Context, count int) error {
	const atATime = 100
	for ; count > 0; count -= atATime {
		if _, err := pb.cluster.AddNodes(ctx, min(count, atATime), nil); err != nil {
			return err
		}
	}
	return nil
}

func (f poolFootprint) rows() []row {
	return []row{
		{
			what: fmt.Sprintf("pool memory: with the kind disabled, beside %d pools (beyond none)", f.pools), goal: "+0",
			cells: map[string]string{lockstepName: fmt.Sprintf("%s (%+.1f MB)", megabytes(f.offWithPools.resident), float64(f.offWithPools.resident-f.off.resident)/1024)},
			met:   verdictOf(float64(f.offWithPools.resident-f.off.resident) <= stableWithin*float64(f.off.resident)),
		},
		{
			what: "pool memory: with the kind enabled and no pools (beyond disabled)", goal: "",
			cells: map[string]string{lockstepName: fmt.Sprintf("%s (%+.1f MB)", megabytes(f.none.resident), float64(f.none.resident-f.off.resident)/1024)},
		},
		perObjectRow(fmt.Sprintf("pool memory: each of %d pools beyond its template of %s", f.pools, kilobytes(f.template)), maxPerPool, f.pools, f.template, f.none, f.withPools),
		perObjectRow(fmt.Sprintf("pool memory: each of %d identities with a claim", f.identities), maxPerIdentity, f.identities, 0, f.withPools, f.withIdentities),
		perObjectRow(fmt.Sprintf("pool memory: each of %d nodes", f.nodes), maxPerNode, f.nodes, 0, f.withIdentities, f.withNodes),
	}
}

// perObjectRow compares the memory that each of a number of objects added with a goal in KB. Its cell
// has the part of the heap as well.
func perObjectRow(what string, limit float64, objects, without int, before, after memoryUse) row {
	each := func(of func(memoryUse) int) float64 {
		return float64(of(after)-of(before))/float64(objects) - float64(without)/1024
	}
	resident := each(func(m memoryUse) int { return m.resident })
	return row{
		what: what, goal: fmt.Sprintf("≤ %.1f KB", limit), met: verdictOf(resident <= limit),
		cells: map[string]string{lockstepName: fmt.Sprintf("%.2f KB (heap %.2f KB)", resident, each(func(m memoryUse) int { return m.heap }))},
	}
}
