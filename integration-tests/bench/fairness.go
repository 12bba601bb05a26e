package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// toSwing is how long a disturbance is left alone with the operator before anything
// is measured.
const toSwing = 10 * time.Second

// mostTimesIdle is the goal for a quiet namespace beside a busy one: so many times as
// much as the floor loses, or as alone where the floor loses nothing.
const mostTimesIdle = 2.0

// besideGoal is that in words.
func besideGoal() string {
	return fmt.Sprintf("p99 ≤ %.0f × the floor's, or ≤ %.0f", mostTimesIdle, mostTimesIdle)
}

// fairnessBetweenNamespaces measures the one group of a quiet namespace, alone
// and while every group of another namespace changes all the time. The floor
// rolls in a third namespace beside the same turmoil: what it loses, the machine
// is to blame for.
func (b *bench) fairnessBetweenNamespaces(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "fairness", func(ctx context.Context, a *arena) ([]row, error) {
		alone, beside, err := a.quietBeside(ctx, func(r *racer, namespaces []string) []*group {
			busy := newGroups(namespaces, r.name+"-busy", "busy-", a.fairness.groups, 1)
			for _, g := range busy {
				g.zones = 1
			}
			return busy
		}, func(_ *racer, busy []*group) disturbance {
			return disturbance{
				what: fmt.Sprintf("%d busy groups", len(busy)), runs: a.fairness.runs,
				begin: func(ctx context.Context) *sync.WaitGroup { return a.flap(ctx, busy) },
			}
		})
		if err != nil {
			return nil, err
		}
		return fairnessRows(3*a.settings.rollout.pods, a.fairness.groups, alone, beside), nil
	})
}

// quietBeside measures the one group of a quiet namespace for each racer, alone and
// beside what disturbs the groups of a second namespace. The floor has no second one: it
// rolls in a third beside each of the others.
func (a *arena) quietBeside(
	ctx context.Context, neighbours func(*racer, []string) []*group, disturb func(*racer, []*group) disturbance,
) (alone, beside map[string]series, err error) {
	alone, beside = map[string]series{}, map[string]series{}
	floor, groups := a.racers[0], map[string][]*group{}
	for _, r := range a.racers {
		namespaces, err := a.makeNamespaces(ctx, r, 2)
		if err != nil {
			return nil, nil, err
		}
		groups[r.name] = newGroups(namespaces[:1], r.name, "quiet-", 1, a.settings.rollout.pods)
		if err := a.makeGroups(ctx, groups[r.name]); err != nil {
			return nil, nil, err
		}
		if r == floor {
			continue
		}
		others := neighbours(r, namespaces[1:])
		if err := a.makeGroups(ctx, others); err != nil {
			return nil, nil, err
		}
		if err := a.start(ctx, r, namespaces...); err != nil {
			return nil, nil, err
		}
		if err := a.bothStates(ctx, []*racer{floor, r}, groups, disturb(r, others), alone, beside); err != nil {
			return nil, nil, err
		}
		r.end()
	}
	return alone, beside, nil
}

// disturbance is what a quiet group is measured beside.
type disturbance struct {
	what  string
	runs  int                                   // counted rollouts in each state
	begin func(context.Context) *sync.WaitGroup // it goes on until its context ends
}

// bothStates adds what the racers do alone and beside a disturbance. The floor's
// figures stay those from beside lockstep.
func (a *arena) bothStates(ctx context.Context, racers []*racer, groups map[string][]*group, d disturbance, alone, beside map[string]series) error {
	first, err := a.inTurn(ctx, "quiet group alone", racers, groups, d.runs)
	if err != nil {
		return err
	}
	disturbed, stop := context.WithCancel(ctx)
	ended := d.begin(disturbed)
	defer func() { stop(); ended.Wait() }()
	if err := pause(ctx, toSwing); err != nil {
		return err
	}
	second, err := a.inTurn(ctx, "quiet group beside "+d.what, racers, groups, d.runs)
	if err != nil {
		return err
	}
	keep(alone, first)
	keep(beside, second)
	return nil
}

// keep adds what is not known yet.
func keep(all, more map[string]series) {
	for name, s := range more {
		if _, known := all[name]; !known {
			all[name] = s
		}
	}
}

// flap changes the templates of all groups in turn until ctx ends, so many a
// second: as fast as the API server answers, nothing would be measured but that
// it has no time left for anybody.
func (a *arena) flap(ctx context.Context, groups []*group) *sync.WaitGroup {
	var all sync.WaitGroup
	all.Go(func() {
		beat := time.NewTicker(time.Second / time.Duration(a.fairness.rate))
		defer beat.Stop()
		for i := 0; ; i++ {
			select {
			case <-beat.C:
			case <-ctx.Done():
				return
			}
			g := groups[i%len(groups)]
			g.image++
			if err := a.change(ctx, g); err != nil && ctx.Err() == nil {
				a.fail(err)
				return
			}
		}
	})
	return &all
}

func fairnessRows(pods, busy int, alone, beside map[string]series) []row {
	first := func(s series) []time.Duration {
		return durations(s.steps(), func(s step) time.Duration { return s.first })
	}
	worse := func(name string) float64 {
		return quantile(first(beside[name]), 0.99).Seconds() / quantile(first(alone[name]), 0.99).Seconds()
	}
	firstCell := func(_ string, s series) string { return milliseconds(median(first(s)), quantile(first(s), 0.99)) }
	return []row{
		totalsRow(fmt.Sprintf("quiet group of %d pods, alone", pods), alone, 0),
		totalsRow(fmt.Sprintf("the same while %d groups of another namespace change all the time", busy), beside, 0),
		rowOf("quiet group alone: Ready to next delete, audit log, p50 / p99", "", unasked, alone, latencyCell),
		rowOf("the same beside the busy groups", "", unasked, beside, latencyCell),
		rowOf("quiet group alone: Ready to first write of the step, p50 / p99", "", unasked, alone, firstCell),
		rowOf("the same beside the busy groups", "", unasked, beside, firstCell),
		rowOf("p99 of the first write beside them, times alone", besideGoal(),
			verdictOf(worse(lockstepName) <= mostTimesIdle*max(worse(floorName), 1)), beside, func(name string, _ series) string {
				return fmt.Sprintf("%.2f", worse(name))
			}),
	}
}
