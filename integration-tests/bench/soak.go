package main

import (
	"context"
	"fmt"
	"time"
)

const (
	mostGrowth = 0.01 // from the first third of what is judged to the last one
	// leastJudged are the samples after the warm-up without which there are no thirds.
	leastJudged = 3
	sampleSoak  = time.Minute
	// wave is after how many samples memory is where it was: client-go keeps an Event
	// for six minutes, and forgets the older ones every six minutes.
	wave = 6
	// leastPace is the share of rollouts that were due without which Events, which are
	// kept for minutes, say more about the machine than about lockstep.
	leastPace = 0.9
	// toCalmDown is how long an operator may tidy up before it is looked at.
	toCalmDown = 2 * time.Second
)

// soaking measures what lockstep needs more and more of while it rolls the same
// groups again and again.
func (b *bench) soaking(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "soak", func(ctx context.Context, a *arena) ([]row, error) {
		r := a.racers[1]
		namespaces, err := a.makeNamespaces(ctx, r, a.settings.soak.groups)
		if err != nil {
			return nil, err
		}
		groups := newGroups(namespaces, r.name, "store-", a.settings.soak.groups, a.settings.soak.pods)
		if err := a.makeGroups(ctx, groups); err != nil {
			return nil, err
		}
		if err := a.start(ctx, r, namespaces...); err != nil {
			return nil, err
		}
		s, err := a.soak(ctx, r, groups)
		if err != nil {
			return nil, err
		}
		return s.rows(), nil
	})
}

// soaked is how a soak went.
type soaked struct {
	minutes, warmUp int
	rollouts        int      // of all groups at once
	pods            int      // in each of these
	samples         []vitals // one a minute
}

// soak rolls all groups at once, again and again and always as often, and looks at the
// operator once a minute, between two rollouts.
func (a *arena) soak(ctx context.Context, r *racer, groups []*group) (soaked, error) {
	sizes := a.settings.soak
	s := soaked{minutes: sizes.minutes, warmUp: sizes.warmUp, pods: len(groups) * groups[0].size()}
	beat := time.NewTicker(sizes.every)
	defer beat.Stop()
	for began := time.Now(); len(s.samples) < s.minutes; {
		select {
		case <-beat.C:
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
		if _, err := a.roll(ctx, r, groups, nil); err != nil {
			return s, fmt.Errorf("roll with %s: %w", r.name, err)
		}
		s.rollouts++
		if time.Since(began) < time.Duration(len(s.samples)+1)*sampleSoak {
			continue
		}
		if err := pause(ctx, toCalmDown); err != nil {
			return s, err
		}
		now, err := r.processes[0].vitals(ctx)
		if err != nil {
			return s, fmt.Errorf("look at %s: %w", r.name, err)
		}
		s.samples = append(s.samples, now)
		a.say("minute %d of %d: %d rollouts so far, heap %s, resident %s (its own: %s; %s), %d goroutines", len(s.samples), s.minutes,
			s.rollouts, kilobytes(now.heap), megabytes(now.resident), megabytes(now.own), now.runtime, now.goroutines)
	}
	if due := int(time.Duration(s.minutes) * sampleSoak / sizes.every); float64(s.rollouts) < leastPace*float64(due) {
		a.say("there were %d rollouts and not %d: the machine was too busy to keep the pace, which memory follows", s.rollouts, due)
	}
	return s, nil
}

// kilobytes of a number of bytes.
func kilobytes(bytes int) string { return fmt.Sprintf("%.0f KB", float64(bytes)/1024) }

// rows judge what came after the warm-up.
func (s soaked) rows() []row {
	judged := s.samples[s.warmUp:]
	rowOf := func(what string, of func(vitals) int, show func(int) string) row {
		var values []int
		for _, v := range judged {
			values = append(values, of(v))
		}
		first, last := outerThirds(values)
		growth := float64(last-first) / float64(first)
		text := fmt.Sprintf("%s, then %s (%+.2f %%)", show(first), show(last), 100*growth)
		return row{what: what, goal: "< 1 % more", cells: map[string]string{lockstepName: text}, met: verdictOf(growth < mostGrowth)}
	}
	all := fmt.Sprintf("%d rollouts of %d pods in %d minutes, those after the first %d", s.rollouts, s.pods, s.minutes, s.warmUp)
	return []row{
		rowOf(all+": heap after a collection, first and last third", func(v vitals) int { return v.heap }, kilobytes),
		rowOf("resident memory", func(v vitals) int { return v.resident }, megabytes),
		rowOf("of this its own, without pages of the program", func(v vitals) int { return v.own }, megabytes),
		rowOf("goroutines", func(v vitals) int { return v.goroutines }, func(n int) string { return fmt.Sprint(n) }),
	}
}

// outerThirds returns the medians of the first and of the last third, each of whole
// waves where it has one.
func outerThirds(values []int) (first, last int) {
	third := max(len(values)/3, 1)
	if third > wave {
		third -= third % wave
	}
	return median(values[:third]), median(values[len(values)-third:])
}
