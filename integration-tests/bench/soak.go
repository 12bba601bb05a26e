package main

import (
	"context"
	"fmt"
	"time"
)

const (
	maxGrowth = 0.01 // from the first third after the warm-up to the last one
	// minSamples are needed after the warm-up to have three thirds.
	minSamples   = 3
	soakInterval = time.Minute
	// eventCycle is the period of memory in samples: client-go keeps an Event for six minutes, and
	// forgets older Events every six minutes.
	eventCycle = 6
	// minPace is the minimum share of the due rollouts. Below it, the retained Events reflect the
	// machine more than lockstep.
	minPace = 0.9
	// soakRest is how long an operator may finish its work before a sample.
	soakRest = 2 * time.Second
)

// soakTest measures what grows in lockstep while it repeatedly rolls the same groups.
func (b *bench) soakTest(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "soak", func(ctx context.Context, tb *testbed) ([]row, error) {
		c := tb.contenders[1]
		namespaces, err := tb.makeNamespaces(ctx, c, tb.settings.soak.groups)
		if err != nil {
			return nil, err
		}
		groups := newGroups(namespaces, c.name, "store-", tb.settings.soak.groups, tb.settings.soak.pods)
		if err := tb.makeGroups(ctx, groups); err != nil {
			return nil, err
		}
		if err := tb.start(ctx, c, namespaces...); err != nil {
			return nil, err
		}
		s, err := tb.soak(ctx, c, groups)
		if err != nil {
			return nil, err
		}
		return s.rows(), nil
	})
}

// soakResult is the result of a soak test.
type soakResult struct {
	minutes, warmUp int
	rollouts        int            // of all groups at once
	pods            int            // in each of these
	samples         []processStats // one a minute
}

// soak rolls all groups at once at a constant pace, and samples the operator once a minute between two
// rollouts.
func (tb *testbed) soak(ctx context.Context, c *contender, groups []*group) (soakResult, error) {
	sizes := tb.settings.soak
	s := soakResult{minutes: sizes.minutes, warmUp: sizes.warmUp, pods: len(groups) * groups[0].size()}
	ticker := time.NewTicker(sizes.every)
	defer ticker.Stop()
	for began := time.Now(); len(s.samples) < s.minutes; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
		if _, err := tb.roll(ctx, c, groups, nil); err != nil {
			return s, fmt.Errorf("roll with %s: %w", c.name, err)
		}
		s.rollouts++
		if time.Since(began) < time.Duration(len(s.samples)+1)*soakInterval {
			continue
		}
		if err := pause(ctx, soakRest); err != nil {
			return s, err
		}
		now, err := c.processes[0].stats(ctx)
		if err != nil {
			return s, fmt.Errorf("read stats of %s: %w", c.name, err)
		}
		s.samples = append(s.samples, now)
		tb.report("minute %d of %d: %d rollouts so far, heap %s, resident %s (its own: %s; %s), %d goroutines", len(s.samples), s.minutes,
			s.rollouts, kilobytes(now.heap), megabytes(now.resident), megabytes(now.anonymous), now.runtime, now.goroutines)
	}
	if due := int(time.Duration(s.minutes) * soakInterval / sizes.every); float64(s.rollouts) < minPace*float64(due) {
		tb.report("%d rollouts instead of %d: the machine was too slow for the interval, which affects memory", s.rollouts, due)
	}
	return s, nil
}

// kilobytes formats a number of bytes.
func kilobytes(bytes int) string { return fmt.Sprintf("%.0f KB", float64(bytes)/1024) }

// rows compare the samples after the warm-up.
func (s soakResult) rows() []row {
	samples := s.samples[s.warmUp:]
	rowOf := func(what string, of func(processStats) int, show func(int) string) row {
		var values []int
		for _, v := range samples {
			values = append(values, of(v))
		}
		first, last := outerThirds(values)
		growth := float64(last-first) / float64(first)
		text := fmt.Sprintf("%s, then %s (%+.2f %%)", show(first), show(last), 100*growth)
		return row{what: what, goal: "< 1 % more", cells: map[string]string{lockstepName: text}, met: verdictOf(growth < maxGrowth)}
	}
	all := fmt.Sprintf("%d rollouts of %d pods in %d minutes, those after the first %d", s.rollouts, s.pods, s.minutes, s.warmUp)
	return []row{
		rowOf(all+": heap after a collection, first and last third", func(v processStats) int { return v.heap }, kilobytes),
		rowOf("resident memory", func(v processStats) int { return v.resident }, megabytes),
		rowOf("of this its own, without pages of the program", func(v processStats) int { return v.anonymous }, megabytes),
		rowOf("goroutines", func(v processStats) int { return v.goroutines }, func(n int) string { return fmt.Sprint(n) }),
	}
}

// outerThirds returns the medians of the first and the last third. If a third is longer than an event
// cycle, it consists of whole cycles.
func outerThirds(values []int) (first, last int) {
	third := max(len(values)/3, 1)
	if third > eventCycle {
		third -= third % eventCycle
	}
	return median(values[:third]), median(values[len(values)-third:])
}
