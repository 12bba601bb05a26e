package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// These are the goals for one group.
const (
	maxFloorRatio     = 1.5
	maxStepMedian     = 10 * time.Millisecond
	maxStepP99        = 50 * time.Millisecond
	maxCPUShare       = 0.01
	maxUnchangedRatio = 1.25 // the maximum ratio that counts as unchanged
)

const (
	idleGroupPods    = 2 // in each of three zones
	settleBeforeIdle = 5 * time.Second
	maxSettling      = 5 * time.Minute
)

// series is the results of one contender, run by run.
type series []rollout

func (s series) totals() []time.Duration {
	return durations(s, func(r rollout) time.Duration { return r.total })
}

func (s series) steps() []step {
	var all []step
	for _, r := range s {
		all = append(all, r.steps...)
	}
	return all
}

// latencies returns the latencies of all steps, from watch to audit log.
func (s series) latencies() []time.Duration {
	return durations(s.steps(), func(s step) time.Duration { return s.sent })
}

// cpu returns the mean CPU time of a rollout. A single rollout is not longer than the kernel's unit.
func (s series) cpu() time.Duration {
	var sum time.Duration
	for _, r := range s {
		sum += r.cpu
	}
	return sum / time.Duration(max(len(s), 1))
}

// rollouts measures one group, alone and next to idle groups.
func (b *bench) rollouts(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "rollout", func(ctx context.Context, tb *testbed) ([]row, error) {
		groups := map[string][]*group{}
		for _, c := range tb.contenders {
			namespaces, err := tb.makeNamespaces(ctx, c, 1)
			if err != nil {
				return nil, err
			}
			groups[c.name] = newGroups(namespaces, c.name, "store-", 1, tb.settings.rollout.pods)
			if err := tb.makeGroups(ctx, groups[c.name]); err != nil {
				return nil, err
			}
			if err := tb.start(ctx, c, namespaces...); err != nil {
				return nil, err
			}
		}
		alone, err := tb.inTurns(ctx, "alone", tb.contenders, groups, tb.settings.rollout.runs)
		if err != nil {
			return nil, err
		}
		pods := 3 * tb.settings.rollout.pods
		rows := aloneRows(pods, alone)
		if !tb.measures("idle") {
			return rows, nil
		}
		existing := 0
		for _, count := range tb.idle.groups {
			more, err := tb.measureWithIdleGroups(ctx, groups, existing, count, alone)
			rows = append(rows, more...)
			if err != nil {
				return rows, err
			}
			existing = count
		}
		return rows, nil
	})
}

// inTurns runs the rollouts of all contenders one after the other, several times. It does not count
// the first round. Each round begins with the next contender.
func (tb *testbed) inTurns(ctx context.Context, how string, contenders []*contender, groups map[string][]*group, runs int) (map[string]series, error) {
	return tb.turns(ctx, how, contenders, groups, 0, runs)
}

// turns is inTurns with the number of the first round; round 0 is not counted.
func (tb *testbed) turns(ctx context.Context, how string, contenders []*contender, groups map[string][]*group, first, runs int) (map[string]series, error) {
	all := map[string]series{}
	for run := first; run <= runs; run++ {
		for i := range contenders {
			c := contenders[(run+i)%len(contenders)]
			result, err := tb.roll(ctx, c, groups[c.name], nil)
			if err != nil {
				return nil, fmt.Errorf("roll with %s: %w", c.name, err)
			}
			if run > 0 {
				all[c.name] = append(all[c.name], result)
			}
			tb.report("%s, run %d of %d: %-10s %s", how, run, runs, c.name, seconds(result.total))
		}
	}
	return all, nil
}

func aloneRows(pods int, all map[string]series) []row {
	own := all[lockstepName].latencies()
	return []row{
		totalsRow(fmt.Sprintf("%d pods in 3 zones", pods), all, maxFloorRatio),
		rowOf(fmt.Sprintf("Ready to next delete, watch to audit log, p50 / p99 of %d", len(own)),
			fmt.Sprintf("≤ %d / %d ms", maxStepMedian.Milliseconds(), maxStepP99.Milliseconds()),
			verdictOfBoth(median(own) <= maxStepMedian, quantile(own, 0.99) <= maxStepP99), all, latencyCell),
		rowOf("the same, watch to watch", "", noGoal, all, func(_ string, s series) string {
			seen := durations(s.steps(), func(s step) time.Duration { return s.seen })
			return milliseconds(median(seen), quantile(seen, 0.99))
		}),
		rowOf("of these, within a zone, audit log", "", noGoal, all, stepsCell(false)),
		rowOf("of these, from zone to zone, audit log", "", noGoal, all, stepsCell(true)),
		rowOf("CPU of the operator for a rollout", "", noGoal, all, func(name string, s series) string {
			if name == floorName {
				return ""
			}
			return milliseconds(s.cpu())
		}),
	}
}

// stepsCell returns the median and the p99 of the steps within a zone, or of those to the next zone.
func stepsCell(zoneChange bool) func(string, series) string {
	return func(_ string, s series) string {
		var took []time.Duration
		for _, one := range s.steps() {
			if one.zoneChange == zoneChange {
				took = append(took, one.sent)
			}
		}
		return milliseconds(median(took), quantile(took, 0.99))
	}
}

// measureWithIdleGroups creates idle groups in the namespaces of all operators, measures the idle
// operators, and repeats the rollouts.
func (tb *testbed) measureWithIdleGroups(ctx context.Context, groups map[string][]*group, existing, count int, alone map[string]series) ([]row, error) {
	for _, c := range tb.contenders {
		if c.isFloor() {
			continue
		}
		idle := newGroups([]string{groups[c.name][0].namespace}, c.name+"-idle", "idle-", count, idleGroupPods)
		if err := tb.makeGroups(ctx, idle[existing:]); err != nil {
			return nil, err
		}
	}
	idleUses, err := tb.measureIdle(ctx, fmt.Sprint(count, " groups"))
	if err != nil {
		return nil, err
	}
	rows := idleRows(count, tb.idle.window, idleUses)
	withIdle, err := tb.inTurns(ctx, fmt.Sprintf("beside %d idle groups", count), tb.contenders, groups, tb.settings.rollout.runs)
	if err != nil {
		return rows, err
	}
	return append(rows, withIdleRows(3*tb.settings.rollout.pods, count, alone, withIdle)...), nil
}

func withIdleRows(pods, count int, alone, withIdle map[string]series) []row {
	own, withoutIdle := withIdle[lockstepName], alone[lockstepName]
	took := own.latencies()
	same := verdictOfBoth(median(took) <= mostUnchanged(median(withoutIdle.latencies())), quantile(took, 0.99) <= maxStepP99)
	return []row{
		totalsRow(fmt.Sprintf("%d pods beside %d idle groups", pods, count), withIdle, maxFloorRatio),
		rowOf(fmt.Sprintf("Ready to next delete beside them, audit log, p50 / p99 of %d", len(took)),
			fmt.Sprintf("≤ %.2f × alone / %d ms", maxUnchangedRatio, maxStepP99.Milliseconds()), same, withIdle, latencyCell),
		rowOf("CPU for a rollout beside them (times alone)", fmt.Sprintf("≤ %.2f × alone", maxUnchangedRatio),
			verdictOf(own.cpu() <= mostUnchanged(withoutIdle.cpu())), withIdle, func(name string, s series) string {
				if name == floorName {
					return ""
				}
				return fmt.Sprintf("%s (%.2f)", milliseconds(s.cpu()), s.cpu().Seconds()/max(alone[name].cpu().Seconds(), 0.001))
			}),
	}
}

// idleUse is what an idle operator did.
type idleUse struct {
	writes   int
	duration time.Duration
	cpu      time.Duration
}

func (s idleUse) perMinute() float64 { return float64(s.writes) / s.duration.Minutes() }

// cpuShare returns the share of one core that it used.
func (s idleUse) cpuShare() float64 { return s.cpu.Seconds() / s.duration.Seconds() }

// measureIdle measures operators that are idle with some objects.
func (tb *testbed) measureIdle(ctx context.Context, with string) (map[string]idleUse, error) {
	if err := tb.awaitNoWrites(ctx); err != nil {
		return nil, err
	}
	began, used := time.Now(), map[string]time.Duration{}
	for _, c := range tb.contenders {
		used[c.name] = c.cpu()
	}
	tb.report("idle with %s for %s", with, tb.idle.window)
	if err := pause(ctx, tb.idle.window); err != nil {
		return nil, err
	}
	requests, err := tb.audit.next()
	if err != nil {
		return nil, err
	}
	took, all := time.Since(began), map[string]idleUse{}
	for _, c := range tb.contenders {
		if c.isFloor() {
			continue
		}
		written := 0
		for _, q := range requests {
			if c.writes(q) {
				written++
			}
		}
		all[c.name] = idleUse{writes: written, duration: took, cpu: c.cpu() - used[c.name]}
	}
	return all, nil
}

// awaitNoWrites waits until no operator writes for a while. If one never stops, the measurement
// continues after a timeout.
func (tb *testbed) awaitNoWrites(ctx context.Context) error {
	for end := time.Now().Add(maxSettling); time.Now().Before(end); {
		if err := pause(ctx, settleBeforeIdle); err != nil {
			return err
		}
		requests, err := tb.audit.next()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(requests, tb.isOperatorWrite) {
			return nil
		}
	}
	return nil
}

func (tb *testbed) isOperatorWrite(q request) bool {
	return slices.ContainsFunc(tb.contenders, func(c *contender) bool { return !c.isFloor() && c.writes(q) })
}

func idleRows(count int, window time.Duration, all map[string]idleUse) []row {
	own := all[lockstepName]
	return []row{
		rowOf(fmt.Sprintf("writes a minute, idle with %d groups for %.0f s, leader's Lease apart", count, window.Seconds()), "0", verdictOf(own.writes == 0), all,
			func(_ string, s idleUse) string { return fmt.Sprintf("%.1f", s.perMinute()) }),
		rowOf("share of a core meanwhile", "< 1 %", verdictOf(own.cpuShare() < maxCPUShare), all,
			func(_ string, s idleUse) string { return fmt.Sprintf("%.2f %%", 100*s.cpuShare()) }),
	}
}

// totalsRow is the row about the duration of rollouts and its ratio to the floor of the same run. A
// goal of 0 is none.
func totalsRow(what string, all map[string]series, goal float64) row {
	floors := all[floorName].totals()
	r := rowOf(what, "", noGoal, all, func(name string, s series) string {
		text := seconds(median(s.totals()))
		if name != floorName {
			text += " " + spread(ratios(s.totals(), floors))
		}
		return text
	})
	if goal > 0 {
		r.goal = fmt.Sprintf("≤ %.1f × floor", goal)
		r.met = verdictOf(median(ratios(all[lockstepName].totals(), floors)) <= goal)
	}
	return r
}

func latencyCell(_ string, s series) string {
	return milliseconds(median(s.latencies()), quantile(s.latencies(), 0.99))
}

// rowOf returns a row with a cell for every measured contender.
func rowOf[T any](what, goal string, v verdict, all map[string]T, cell func(name string, of T) string) row {
	r := row{what: what, goal: goal, cells: map[string]string{}, met: v}
	for name, of := range all {
		r.cells[name] = cell(name, of)
	}
	return r
}
