package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// largeZones and largePods are the zones of a group and the pods of a zone in a large cluster.
const largeZones, largePods = 4, 5

// idleSuffix ends the label of groups that do not roll, so the pod watches exclude them.
const idleSuffix = "-rest"

// largeResult contains the figures of an operator in a large cluster.
type largeResult struct {
	full, read []time.Duration // time until caches were full, and the floor's time in the same turn
	memory     memoryUse
	idle       idleUse
	rollouts   map[string]series // rollouts of some groups, and the floor's in the same turns
}

// largeCluster measures every operator on a cluster of its own with many groups.
func (b *bench) largeCluster(ctx context.Context) ([]row, error) {
	all := map[string]largeResult{}
	for i, name := range b.names() {
		if name == floorName {
			continue
		}
		_, err := b.withTestbed(ctx, "large-"+name, func(ctx context.Context, tb *testbed) ([]row, error) {
			tb.contenders = []*contender{tb.contenders[0], tb.contenders[i]}
			m, err := tb.measureLarge(ctx, tb.contenders[1])
			all[name] = m
			return nil, err
		})
		if err != nil {
			return nil, err
		}
	}
	return largeRows(b.large, b.idle.window, all), nil
}

func (tb *testbed) measureLarge(ctx context.Context, c *contender) (largeResult, error) {
	namespaces, err := tb.makeNamespaces(ctx, c, tb.large.namespaces)
	if err != nil {
		return largeResult{}, err
	}
	groups, err := tb.makeLargeGroups(ctx, c, namespaces)
	if err != nil {
		return largeResult{}, err
	}
	var m largeResult
	if err := tb.measureStarts(ctx, c, namespaces, &m); err != nil {
		return m, err
	}
	if err := tb.awaitQuiet(ctx, c); err != nil {
		return m, err
	}
	if m.memory, err = tb.measureMemory(ctx, c, fmt.Sprint(tb.large.pods(), " pods"), tb.large.settle); err != nil {
		return m, err
	}
	idle, err := tb.measureIdle(ctx, fmt.Sprint(tb.large.groups, " groups"))
	if err != nil {
		return m, err
	}
	m.idle = idle[c.name]
	m.rollouts, err = tb.inTurns(ctx, fmt.Sprintf("%d of %d groups", tb.large.rolling, tb.large.groups), tb.contenders, groups, tb.large.runs)
	return m, err
}

// makeLargeGroups creates all groups, and one of the floor for each group that rolls. It returns the
// groups that roll.
func (tb *testbed) makeLargeGroups(ctx context.Context, c *contender, namespaces []string) (map[string][]*group, error) {
	floor := tb.contenders[0]
	others, err := tb.makeNamespaces(ctx, floor, min(tb.large.rolling, tb.large.namespaces))
	if err != nil {
		return nil, err
	}
	all := newGroups(namespaces, c.name+idleSuffix, "store-", tb.large.groups, largePods)
	for _, g := range all[:tb.large.rolling] {
		g.contender = c.name
	}
	rolling := map[string][]*group{
		floor.name: newGroups(others, floor.name, "store-", tb.large.rolling, largePods),
		c.name:     all[:tb.large.rolling],
	}
	for _, groups := range [][]*group{rolling[floor.name], rolling[c.name], all[tb.large.rolling:]} {
		for _, g := range groups {
			g.zones = largeZones
		}
		if err := tb.makeGroups(ctx, groups); err != nil {
			return nil, err
		}
	}
	return rolling, nil
}

// measureStarts starts the operator several times, in turn with the floor that only reads.
func (tb *testbed) measureStarts(ctx context.Context, c *contender, namespaces []string, m *largeResult) error {
	for n := range tb.large.starts {
		c.kill()
		read, err := readAll(ctx, tb.client)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := tb.start(ctx, c, namespaces...); err != nil {
			return err
		}
		full, known, err := tb.awaitFullCaches(ctx, c, began)
		if err != nil {
			return err
		}
		if known {
			m.full, m.read = append(m.full, full), append(m.read, read)
			tb.report("start %d of %d: caches of %s full after %s, everything read in %s", n+1, tb.large.starts, c.name, seconds(full), seconds(read))
		}
	}
	return nil
}

// quietTime is how long a restarted operator may only wait until the Lease of the previous leader
// expires.
const quietTime = 15 * time.Second

// awaitQuiet waits until an operator has stopped writing about a cluster that is new to it. If it
// never stops, the measurement continues after a timeout.
func (tb *testbed) awaitQuiet(ctx context.Context, c *contender) error {
	began := time.Now()
	for lastWrite := began; time.Since(lastWrite) < quietTime && time.Since(began) < 2*stallTimeout; {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		requests, err := tb.audit.next()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(requests, c.writes) {
			lastWrite = time.Now()
		}
	}
	return nil
}

func largeRows(sizes largeSizes, window time.Duration, all map[string]largeResult) []row {
	memory, idle, rollouts := map[string]memoryUse{}, map[string]idleUse{}, map[string]series{}
	full := row{
		what:  fmt.Sprintf("%d groups, %d pods in %d namespaces: start to full caches, median of %d", sizes.groups, sizes.pods(), sizes.namespaces, sizes.starts),
		cells: map[string]string{floorName: seconds(median(all[lockstepName].read))},
	}
	for name, m := range all {
		memory[name], idle[name], rollouts[name] = m.memory, m.idle, m.rollouts[name]
		if len(m.full) > 0 {
			full.cells[name] = seconds(median(m.full)) + " " + spread(ratios(m.full, m.read))
		}
	}
	floors := all[lockstepName].rollouts[floorName]
	rollouts[floorName] = floors
	own := rollouts[lockstepName].latencies()
	rows := append([]row{full}, memoryUseRows(sizes.pods(), sizes.rolling*largeZones*largePods, memory)...)
	rows = append(rows, idleRows(sizes.groups, window, idle)...)
	return append(rows,
		rowOf(fmt.Sprintf("%d of these groups at once", sizes.rolling), "", noGoal, rollouts, func(name string, s series) string {
			if name == floorName {
				return seconds(median(s.totals()))
			}
			return seconds(median(s.totals())) + " " + spread(ratios(s.totals(), all[name].rollouts[floorName].totals()))
		}),
		rowOf(fmt.Sprintf("Ready to next delete among them, audit log, p50 / p99 of %d", len(own)), "", noGoal, rollouts, latencyCell),
	)
}
