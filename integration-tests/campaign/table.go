package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// conclude prints what came of this run, and of all that is recorded for this code.
func (c *campaign) conclude(done []record, took time.Duration) {
	if c.only > 0 {
		fmt.Fprint(c.out, table(tally(done), tally(done)))
		return
	}
	all := slices.Collect(maps.Values(c.results.of(c.code)))
	fmt.Fprint(c.out, table(tally(done), tally(all)))
	fmt.Fprintf(c.out, "\nseeds %d to %d of code %s in %s; the second column adds up %s\n", c.seed, c.seed+uint64(c.plans)-1, c.code,
		took.Round(time.Second), c.settings.results)
	fmt.Fprintf(c.out, "again: make faults FAULTS=%d FAULTS_FLAGS='-seed %d' (seeds that are recorded for this code are passed over)\n", c.plans, c.seed)
}

// sums are what many plans add up to.
type sums struct {
	plans, groups, takedowns, excused, granted, violations, failures, unjudged, reached int

	seconds, longer, longest float64 // of all plans; with more than the usual grace; the longest
	steps, faults            map[string]int
}

func tally(records []record) sums {
	s := sums{steps: map[string]int{}, faults: map[string]int{}}
	for _, r := range records {
		s.plans++
		s.groups += r.Groups
		s.takedowns += r.Takedowns
		s.excused += r.Grace.Excused
		s.granted += r.Granted
		s.violations += len(r.Violations)
		s.failures += len(r.Failures)
		s.unjudged += len(r.Unjudged)
		s.seconds, s.longer, s.longest = s.seconds+r.Seconds, s.longer+r.Grace.Longer, max(s.longest, r.Grace.Longest)
		if r.Missed == "" {
			s.reached++
		}
		for kind, n := range r.Steps {
			s.steps[kind] += n
		}
		for kind, n := range r.Faults {
			s.faults[kind] += n
		}
	}
	return s
}

// usual is the part of the time in which nobody was excused for longer than usual.
func (s sums) usual() string { return fmt.Sprintf("%.0f %%", 100*(1-s.longer/max(s.seconds, 1))) }

// table prints sums in Markdown that also reads well in a terminal.
func table(run, all sums) string {
	var b strings.Builder
	row := func(what string, run, all any) { fmt.Fprintf(&b, "| %-48s | %9v | %9v |\n", what, run, all) }
	row("", "this run", "added up")
	fmt.Fprintf(&b, "|%s|%s|%s|\n", strings.Repeat("-", 50), strings.Repeat("-", 10)+":", strings.Repeat("-", 10)+":")
	row("plans", run.plans, all.plans)
	row("groups of three zones", run.groups, all.groups)
	for _, kind := range slices.Sorted(maps.Keys(all.steps)) {
		row("asked: "+kind, run.steps[kind], all.steps[kind])
	}
	row("pods that served, deleted or evicted", run.takedowns, all.takedowns)
	for _, kind := range slices.Sorted(maps.Keys(all.faults)) {
		row("fault: "+kind, run.faults[kind], all.faults[kind])
	}
	row("faults", sum(run.faults), sum(all.faults))
	row("evictions granted, by the audit log", run.granted, all.granted)
	row("pods judged at 1 s of grace, as always", run.takedowns-run.excused, all.takedowns-all.excused)
	row("pods judged at more, by whom could not know", run.excused, all.excused)
	row("time at 1 s of grace for both operators", run.usual(), all.usual())
	row("longest grace of a disturbance", fmt.Sprintf("%.1f s", run.longest), fmt.Sprintf("%.1f s", all.longest))
	row("violations", run.violations, all.violations)
	row("operators that failed", run.failures, all.failures)
	row("plans that cannot be judged", run.unjudged, all.unjudged)
	row("goals reached", fmt.Sprintf("%d/%d", run.reached, run.plans), fmt.Sprintf("%d/%d", all.reached, all.plans))
	return b.String()
}
