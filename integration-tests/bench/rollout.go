package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The goals for one group.
const (
	mostTimesFloor  = 1.6
	mostStepMedian  = 10 * time.Millisecond
	mostStepP99     = 50 * time.Millisecond
	mostShareOfCore = 0.01
	mostTimesAlone  = 1.25 // what counts as unchanged
)

const (
	idleGroupPods    = 2 // in each of three zones
	settleBeforeIdle = 5 * time.Second
	longestSettling  = 5 * time.Minute
)

// series is what one racer's rollouts took, run by run.
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

// latencies of all steps, watch to audit log.
func (s series) latencies() []time.Duration {
	return durations(s.steps(), func(s step) time.Duration { return s.sent })
}

// cpu is the mean of a rollout: the unit of the kernel's account is as large as
// what a single one takes.
func (s series) cpu() time.Duration {
	var sum time.Duration
	for _, r := range s {
		sum += r.cpu
	}
	return sum / time.Duration(max(len(s), 1))
}

// rollouts measures one group, alone and beside idle groups.
func (b *bench) rollouts(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "rollout", func(ctx context.Context, a *arena) ([]row, error) {
		groups := map[string][]*group{}
		for _, r := range a.racers {
			namespaces, err := a.makeNamespaces(ctx, r, 1)
			if err != nil {
				return nil, err
			}
			groups[r.name] = newGroups(namespaces, r.name, "store-", 1, a.settings.rollout.pods)
			if err := a.makeGroups(ctx, groups[r.name]); err != nil {
				return nil, err
			}
			if err := a.start(ctx, r, namespaces...); err != nil {
				return nil, err
			}
		}
		alone, err := a.inTurn(ctx, "alone", a.racers, groups, a.settings.rollout.runs)
		if err != nil {
			return nil, err
		}
		pods := 3 * a.settings.rollout.pods
		rows := aloneRows(pods, alone)
		if !a.wants("idle") {
			return rows, nil
		}
		there := 0
		for _, count := range a.idle.groups {
			more, err := a.besideIdle(ctx, groups, there, count, alone)
			rows = append(rows, more...)
			if err != nil {
				return rows, err
			}
			there = count
		}
		return rows, nil
	})
}

// inTurn lets everybody roll his groups, one after the other, several times. The
// first round is not counted; each round begins with the next one.
func (a *arena) inTurn(ctx context.Context, how string, racers []*racer, groups map[string][]*group, runs int) (map[string]series, error) {
	return a.turns(ctx, how, racers, groups, 0, runs)
}

// turns lets everybody roll in turns, from the first to the last; that with the number 0 is
// not counted.
func (a *arena) turns(ctx context.Context, how string, racers []*racer, groups map[string][]*group, first, runs int) (map[string]series, error) {
	all := map[string]series{}
	for run := first; run <= runs; run++ {
		for i := range racers {
			r := racers[(run+i)%len(racers)]
			result, err := a.roll(ctx, r, groups[r.name], nil)
			if err != nil {
				return nil, fmt.Errorf("roll with %s: %w", r.name, err)
			}
			if run > 0 {
				all[r.name] = append(all[r.name], result)
			}
			a.say("%s, run %d of %d: %-10s %s", how, run, runs, r.name, seconds(result.total))
		}
	}
	return all, nil
}

func aloneRows(pods int, all map[string]series) []row {
	own := all[lockstepName].latencies()
	return []row{
		totalsRow(fmt.Sprintf("%d pods in 3 zones", pods), all, mostTimesFloor),
		rowOf(fmt.Sprintf("Ready to next delete, watch to audit log, p50 / p99 of %d", len(own)),
			fmt.Sprintf("≤ %d / %d ms", mostStepMedian.Milliseconds(), mostStepP99.Milliseconds()),
			verdictOfBoth(median(own) <= mostStepMedian, quantile(own, 0.99) <= mostStepP99), all, latencyCell),
		rowOf("the same, watch to watch", "", unasked, all, func(_ string, s series) string {
			seen := durations(s.steps(), func(s step) time.Duration { return s.seen })
			return milliseconds(median(seen), quantile(seen, 0.99))
		}),
		rowOf("of these, from zone to zone, audit log", "", unasked, all, func(_ string, s series) string {
			var between []time.Duration
			for _, one := range s.steps() {
				if one.handOver {
					between = append(between, one.sent)
				}
			}
			return milliseconds(median(between), quantile(between, 0.99))
		}),
		rowOf("CPU of the operator for a rollout", "", unasked, all, func(name string, s series) string {
			if name == floorName {
				return ""
			}
			return milliseconds(s.cpu())
		}),
	}
}

// besideIdle makes idle groups in the namespaces of all operators, watches them
// being idle, and repeats the rollouts beside them.
func (a *arena) besideIdle(ctx context.Context, groups map[string][]*group, there, count int, alone map[string]series) ([]row, error) {
	for _, r := range a.racers {
		if r.isFloor() {
			continue
		}
		idle := newGroups([]string{groups[r.name][0].namespace}, r.name+"-idle", "idle-", count, idleGroupPods)
		if err := a.makeGroups(ctx, idle[there:]); err != nil {
			return nil, err
		}
	}
	still, err := a.idleness(ctx, count)
	if err != nil {
		return nil, err
	}
	rows := idleRows(count, a.idle.window, still)
	beside, err := a.inTurn(ctx, fmt.Sprintf("beside %d idle groups", count), a.racers, groups, a.settings.rollout.runs)
	if err != nil {
		return rows, err
	}
	return append(rows, besideRows(3*a.settings.rollout.pods, count, alone, beside)...), nil
}

func besideRows(pods, count int, alone, beside map[string]series) []row {
	own, before := beside[lockstepName], alone[lockstepName]
	took := own.latencies()
	same := verdictOfBoth(median(took) <= times(mostTimesAlone, median(before.latencies())), quantile(took, 0.99) <= mostStepP99)
	return []row{
		totalsRow(fmt.Sprintf("%d pods beside %d idle groups", pods, count), beside, mostTimesFloor),
		rowOf(fmt.Sprintf("Ready to next delete beside them, audit log, p50 / p99 of %d", len(took)),
			fmt.Sprintf("≤ %.2f × alone / %d ms", mostTimesAlone, mostStepP99.Milliseconds()), same, beside, latencyCell),
		rowOf("CPU for a rollout beside them (times alone)", fmt.Sprintf("≤ %.2f × alone", mostTimesAlone),
			verdictOf(own.cpu() <= times(mostTimesAlone, before.cpu())), beside, func(name string, s series) string {
				if name == floorName {
					return ""
				}
				return fmt.Sprintf("%s (%.2f)", milliseconds(s.cpu()), s.cpu().Seconds()/max(alone[name].cpu().Seconds(), 0.001))
			}),
	}
}

// stillness is what an operator did that had nothing to do.
type stillness struct {
	written int
	lasted  time.Duration
	cpu     time.Duration
}

func (s stillness) perMinute() float64 { return float64(s.written) / s.lasted.Minutes() }

// core is the share of one that it needed.
func (s stillness) core() float64 { return s.cpu.Seconds() / s.lasted.Seconds() }

// idleness watches operators that have nothing to do.
func (a *arena) idleness(ctx context.Context, count int) (map[string]stillness, error) {
	if err := a.settle(ctx); err != nil {
		return nil, err
	}
	began, used := time.Now(), map[string]time.Duration{}
	for _, r := range a.racers {
		used[r.name] = r.cpu()
	}
	a.say("idle with %d groups for %s", count, a.idle.window)
	if err := pause(ctx, a.idle.window); err != nil {
		return nil, err
	}
	requests, err := a.audit.next()
	if err != nil {
		return nil, err
	}
	took, all := time.Since(began), map[string]stillness{}
	for _, r := range a.racers {
		if r.isFloor() {
			continue
		}
		written := 0
		for _, q := range requests {
			if r.writes(q) {
				written++
			}
		}
		all[r.name] = stillness{written: written, lasted: took, cpu: r.cpu() - used[r.name]}
	}
	return all, nil
}

// settle waits until operators have told what is new to them: nobody writes for a while. Who
// never rests is watched all the same.
func (a *arena) settle(ctx context.Context) error {
	for end := time.Now().Add(longestSettling); time.Now().Before(end); {
		if err := pause(ctx, settleBeforeIdle); err != nil {
			return err
		}
		requests, err := a.audit.next()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(requests, a.byOperator) {
			return nil
		}
	}
	return nil
}

func (a *arena) byOperator(q request) bool {
	return slices.ContainsFunc(a.racers, func(r *racer) bool { return !r.isFloor() && r.writes(q) })
}

func idleRows(count int, window time.Duration, all map[string]stillness) []row {
	own := all[lockstepName]
	return []row{
		rowOf(fmt.Sprintf("writes a minute, idle with %d groups for %.0f s, leader's Lease apart", count, window.Seconds()), "0", verdictOf(own.written == 0), all,
			func(_ string, s stillness) string { return fmt.Sprintf("%.1f", s.perMinute()) }),
		rowOf("share of a core meanwhile", "< 1 %", verdictOf(own.core() < mostShareOfCore), all,
			func(_ string, s stillness) string { return fmt.Sprintf("%.2f %%", 100*s.core()) }),
	}
}

// totalsRow is about how long rollouts took: seconds, and beside the floor of the
// same run. A goal of 0 is none.
func totalsRow(what string, all map[string]series, goal float64) row {
	floors := all[floorName].totals()
	r := rowOf(what, "", unasked, all, func(name string, s series) string {
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

// rowOf has a cell for everybody who was measured.
func rowOf[T any](what, goal string, v verdict, all map[string]T, cell func(name string, of T) string) row {
	r := row{what: what, goal: goal, cells: map[string]string{}, met: v}
	for name, of := range all {
		r.cells[name] = cell(name, of)
	}
	return r
}
