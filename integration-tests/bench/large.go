package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// largeZones × largePods are in each group of a large cluster.
const largeZones, largePods = 4, 5

// restLabel ends the label of groups that do not roll, so that nobody follows them.
const restLabel = "-rest"

// magnitude is how somebody did in a large cluster.
type magnitude struct {
	full, read []time.Duration // until caches were full, and what the floor took in the same turn
	memory     occupied
	still      stillness
	beside     map[string]series // rollouts of some groups, the floor's in the same turns
}

// largeCluster measures every operator on a cluster of its own with very many groups.
func (b *bench) largeCluster(ctx context.Context) ([]row, error) {
	all := map[string]magnitude{}
	for i, name := range b.names() {
		if name == floorName {
			continue
		}
		_, err := b.inArena(ctx, "large-"+name, func(ctx context.Context, a *arena) ([]row, error) {
			a.racers = []*racer{a.racers[0], a.racers[i]}
			m, err := a.magnitude(ctx, a.racers[1])
			all[name] = m
			return nil, err
		})
		if err != nil {
			return nil, err
		}
	}
	return largeRows(b.large, b.idle.window, all), nil
}

func (a *arena) magnitude(ctx context.Context, r *racer) (magnitude, error) {
	namespaces, err := a.makeNamespaces(ctx, r, a.large.namespaces)
	if err != nil {
		return magnitude{}, err
	}
	groups, err := a.makeLarge(ctx, r, namespaces)
	if err != nil {
		return magnitude{}, err
	}
	var m magnitude
	if err := a.fillCaches(ctx, r, namespaces, &m); err != nil {
		return m, err
	}
	if err := a.calm(ctx, r); err != nil {
		return m, err
	}
	if m.memory, err = a.occupies(ctx, r, fmt.Sprint(a.large.pods(), " pods"), a.large.settle); err != nil {
		return m, err
	}
	still, err := a.idleness(ctx, a.large.groups)
	if err != nil {
		return m, err
	}
	m.still = still[r.name]
	m.beside, err = a.inTurn(ctx, fmt.Sprintf("%d of %d groups", a.large.rolling, a.large.groups), a.racers, groups, a.large.runs)
	return m, err
}

// makeLarge makes all groups, and as many of the floor as will roll. It returns those
// that roll.
func (a *arena) makeLarge(ctx context.Context, r *racer, namespaces []string) (map[string][]*group, error) {
	floor := a.racers[0]
	others, err := a.makeNamespaces(ctx, floor, min(a.large.rolling, a.large.namespaces))
	if err != nil {
		return nil, err
	}
	all := newGroups(namespaces, r.name+restLabel, "store-", a.large.groups, largePods)
	for _, g := range all[:a.large.rolling] {
		g.racer = r.name
	}
	rolling := map[string][]*group{
		floor.name: newGroups(others, floor.name, "store-", a.large.rolling, largePods),
		r.name:     all[:a.large.rolling],
	}
	for _, groups := range [][]*group{rolling[floor.name], rolling[r.name], all[a.large.rolling:]} {
		for _, g := range groups {
			g.zones = largeZones
		}
		if err := a.makeGroups(ctx, groups); err != nil {
			return nil, err
		}
	}
	return rolling, nil
}

// fillCaches starts the operator several times, in turn with somebody who only reads.
func (a *arena) fillCaches(ctx context.Context, r *racer, namespaces []string, m *magnitude) error {
	for n := range a.large.starts {
		r.end()
		read, err := readAll(ctx, a.client)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := a.start(ctx, r, namespaces...); err != nil {
			return err
		}
		full, told, err := a.filled(ctx, r, began)
		if err != nil {
			return err
		}
		if told {
			m.full, m.read = append(m.full, full), append(m.read, read)
			a.say("start %d of %d: caches of %s full after %s, everything read in %s", n+1, a.large.starts, r.name, seconds(full), seconds(read))
		}
	}
	return nil
}

// untilCalm is for how long who has been started again may only wait until the one
// before counts as gone.
const untilCalm = 15 * time.Second

// calm waits until an operator has written down all that it has to say of a cluster
// that it sees for the first time. Who never ceases is measured all the same.
func (a *arena) calm(ctx context.Context, r *racer) error {
	began := time.Now()
	for wrote := began; time.Since(wrote) < untilCalm && time.Since(began) < 2*patience; {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		requests, err := a.audit.next()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(requests, r.writes) {
			wrote = time.Now()
		}
	}
	return nil
}

func largeRows(sizes largeSizes, window time.Duration, all map[string]magnitude) []row {
	memory, still, beside := map[string]occupied{}, map[string]stillness{}, map[string]series{}
	full := row{
		what:  fmt.Sprintf("%d groups, %d pods in %d namespaces: start to full caches, median of %d", sizes.groups, sizes.pods(), sizes.namespaces, sizes.starts),
		cells: map[string]string{floorName: seconds(median(all[lockstepName].read))},
	}
	for name, m := range all {
		memory[name], still[name], beside[name] = m.memory, m.still, m.beside[name]
		if len(m.full) > 0 {
			full.cells[name] = seconds(median(m.full)) + " " + spread(ratios(m.full, m.read))
		}
	}
	floors := all[lockstepName].beside[floorName]
	beside[floorName] = floors
	own := beside[lockstepName].latencies()
	rows := append([]row{full}, occupiedRows(sizes.pods(), sizes.rolling*largeZones*largePods, memory)...)
	rows = append(rows, idleRows(sizes.groups, window, still)...)
	return append(rows,
		rowOf(fmt.Sprintf("%d of these groups at once", sizes.rolling), "", unasked, beside, func(name string, s series) string {
			if name == floorName {
				return seconds(median(s.totals()))
			}
			return seconds(median(s.totals())) + " " + spread(ratios(s.totals(), all[name].beside[floorName].totals()))
		}),
		rowOf(fmt.Sprintf("Ready to next delete among them, audit log, p50 / p99 of %d", len(own)), "", unasked, beside, latencyCell),
	)
}
