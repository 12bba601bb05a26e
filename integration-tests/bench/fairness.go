package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// settleBeforeMeasuring is how long a disturbance runs before the measurement begins.
const settleBeforeMeasuring = 10 * time.Second

// maxSlowdown is the goal for a quiet namespace next to a busy one. It is a factor of the floor's
// slowdown, or of the undisturbed rollout if the floor is not slower.
const maxSlowdown = 2.0

// slowdownGoal returns the text of that goal.
func slowdownGoal() string {
	return fmt.Sprintf("p99 ≤ %.0f × the floor's, or ≤ %.0f", maxSlowdown, maxSlowdown)
}

// fairnessBetweenNamespaces measures the only group of a quiet namespace, alone and while every group
// of another namespace changes all the time. The floor rolls in a third namespace during the same
// changes, which shows the slowdown of the machine.
func (b *bench) fairnessBetweenNamespaces(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "fairness", func(ctx context.Context, tb *testbed) ([]row, error) {
		alone, disturbed, err := tb.measureQuietGroup(ctx, func(c *contender, namespaces []string) []*group {
			busy := newGroups(namespaces, c.name+"-busy", "busy-", tb.fairness.groups, 1)
			for _, g := range busy {
				g.zones = 1
			}
			return busy
		}, func(_ *contender, busy []*group) disturbance {
			return disturbance{
				what: fmt.Sprintf("%d busy groups", len(busy)), runs: tb.fairness.runs,
				begin: func(ctx context.Context) *sync.WaitGroup { return tb.changeTemplates(ctx, busy) },
			}
		})
		if err != nil {
			return nil, err
		}
		return fairnessRows(3*tb.settings.rollout.pods, tb.fairness.groups, alone, disturbed), nil
	})
}

// measureQuietGroup measures the only group of a quiet namespace for each contender, alone and while
// the groups of a second namespace are disturbed. The floor has no second namespace. It rolls in a
// third one next to each of the others.
func (tb *testbed) measureQuietGroup(
	ctx context.Context, neighbours func(*contender, []string) []*group, disturb func(*contender, []*group) disturbance,
) (alone, disturbed map[string]series, err error) {
	alone, disturbed = map[string]series{}, map[string]series{}
	floor, groups := tb.contenders[0], map[string][]*group{}
	for _, c := range tb.contenders {
		namespaces, err := tb.makeNamespaces(ctx, c, 2)
		if err != nil {
			return nil, nil, err
		}
		groups[c.name] = newGroups(namespaces[:1], c.name, "quiet-", 1, tb.settings.rollout.pods)
		if err := tb.makeGroups(ctx, groups[c.name]); err != nil {
			return nil, nil, err
		}
		if c == floor {
			continue
		}
		others := neighbours(c, namespaces[1:])
		if err := tb.makeGroups(ctx, others); err != nil {
			return nil, nil, err
		}
		if err := tb.start(ctx, c, namespaces...); err != nil {
			return nil, nil, err
		}
		if err := tb.withAndWithout(ctx, []*contender{floor, c}, groups, disturb(c, others), alone, disturbed); err != nil {
			return nil, nil, err
		}
		c.kill()
	}
	return alone, disturbed, nil
}

// disturbance is what happens while the quiet group is measured.
type disturbance struct {
	what  string
	runs  int                                   // counted rollouts in each state
	begin func(context.Context) *sync.WaitGroup // it continues until its context ends
}

// withAndWithout adds the rollouts of the contenders with and without a disturbance. The floor's
// figures are those measured next to lockstep.
func (tb *testbed) withAndWithout(ctx context.Context, contenders []*contender, groups map[string][]*group, d disturbance, alone, disturbed map[string]series) error {
	first, err := tb.inTurns(ctx, "quiet group alone", contenders, groups, d.runs)
	if err != nil {
		return err
	}
	disturbance, stop := context.WithCancel(ctx)
	ended := d.begin(disturbance)
	defer func() { stop(); ended.Wait() }()
	if err := pause(ctx, settleBeforeMeasuring); err != nil {
		return err
	}
	second, err := tb.inTurns(ctx, "quiet group beside "+d.what, contenders, groups, d.runs)
	if err != nil {
		return err
	}
	addMissing(alone, first)
	addMissing(disturbed, second)
	return nil
}

// addMissing adds the series that all does not contain.
func addMissing(all, more map[string]series) {
	for name, s := range more {
		if _, known := all[name]; !known {
			all[name] = s
		}
	}
}

// changeTemplates changes the templates of all groups in turn until ctx ends. The rate is limited,
// because an API server under full load would dominate the measurement.
func (tb *testbed) changeTemplates(ctx context.Context, groups []*group) *sync.WaitGroup {
	var all sync.WaitGroup
	all.Go(func() {
		ticker := time.NewTicker(time.Second / time.Duration(tb.fairness.rate))
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			g := groups[i%len(groups)]
			g.image++
			if err := tb.change(ctx, g); err != nil && ctx.Err() == nil {
				tb.abort(err)
				return
			}
		}
	})
	return &all
}

func fairnessRows(pods, busy int, alone, disturbed map[string]series) []row {
	first := func(s series) []time.Duration {
		return durations(s.steps(), func(s step) time.Duration { return s.first })
	}
	slowdown := func(name string) float64 {
		return quantile(first(disturbed[name]), 0.99).Seconds() / quantile(first(alone[name]), 0.99).Seconds()
	}
	firstCell := func(_ string, s series) string { return milliseconds(median(first(s)), quantile(first(s), 0.99)) }
	return []row{
		totalsRow(fmt.Sprintf("quiet group of %d pods, alone", pods), alone, 0),
		totalsRow(fmt.Sprintf("the same while %d groups of another namespace change all the time", busy), disturbed, 0),
		rowOf("quiet group alone: Ready to next delete, audit log, p50 / p99", "", noGoal, alone, latencyCell),
		rowOf("the same beside the busy groups", "", noGoal, disturbed, latencyCell),
		rowOf("quiet group alone: Ready to first write of the step, p50 / p99", "", noGoal, alone, firstCell),
		rowOf("the same beside the busy groups", "", noGoal, disturbed, firstCell),
		rowOf("p99 of the first write beside them, times alone", slowdownGoal(),
			verdictOf(slowdown(lockstepName) <= maxSlowdown*max(slowdown(floorName), 1)), disturbed, func(name string, _ series) string {
				return fmt.Sprintf("%.2f", slowdown(name))
			}),
	}
}
