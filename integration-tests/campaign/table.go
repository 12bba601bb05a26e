package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// printSummary prints the results of this run, and of all records for this code.
func (c *campaign) printSummary(done []record, took time.Duration) {
	if c.only > 0 {
		fmt.Fprint(c.out, table(sumUp(done), sumUp(done)))
		return
	}
	fmt.Fprint(c.out, table(sumUp(done), sumUp(c.results.of(c.code))))
	fmt.Fprintf(c.out, "\n%s\n", summaryOfAllCode(c.results.of("")))
	fmt.Fprintf(c.out, "seeds %d to %d of code %s in %s; the second column adds up %s\n", c.seed, c.seed+uint64(c.plans)-1, c.code,
		took.Round(time.Second), c.settings.results)
	fmt.Fprintf(c.out, "again: make faults FAULTS=%d FAULTS_FLAGS='-seed %d%s' (seeds that are recorded for this code are passed over)\n", c.plans, c.seed, c.operatorFlags())
	c.printBroken(done)
}

// printBroken prints the findings of the plans that did not succeed. They end the output, of which a
// build machine often shows nothing but the end.
func (c *campaign) printBroken(done []record) {
	for _, r := range done {
		if r.broken() {
			fmt.Fprintf(c.out, "\nplan %d:\n%s", r.Seed, r.findings())
		}
	}
}

// summaryOfAllCode sums up the records of any code, one for each seed.
func summaryOfAllCode(records []record) string {
	s := sumUp(records)
	return fmt.Sprintf("of whatever code: %d seeds, %d faults, %d pods, %d evictions granted, %d of %d goals reached, %d violations",
		s.plans, sum(s.faults), s.disruptions, s.granted, s.reached, s.plans, s.violations)
}

// totals are the sums over many plans.
type totals struct {
	plans, judged, groups, pools, disruptions, ofPools, granted, evicted, violations, failures, reached int

	withoutFaults              int     // plans without faults of their own
	attempts, unjudged, undone int     // all attempts; without a verdict; not completed
	longer, much, needed       int     // pods with more than the usual grace, with much more; violations without any grace
	longest                    float64 // grace, in seconds
	steps, faults, felt        map[string]int
}

// sumUp sums up records. It counts each attempt, and the violations and failures of all attempts. All
// other figures are those of the conclusive attempts.
func sumUp(records []record) totals {
	s := totals{attempts: len(records), steps: map[string]int{}, faults: map[string]int{}, felt: map[string]int{}}
	for _, r := range records {
		s.violations += len(r.Violations)
		s.failures += len(r.Failures)
		if len(r.Unjudged) > 0 {
			s.unjudged++
		}
		if r.Undone != "" {
			s.undone++
		}
	}
	for _, r := range conclusive(records) {
		s.plans++
		s.groups += r.Groups
		s.pools += r.Pools
		s.disruptions += r.Disruptions
		s.ofPools += r.OfPools
		s.granted += r.Granted
		s.evicted += r.Evicted
		s.longer, s.much, s.needed, s.longest = s.longer+r.Grace.Longer, s.much+r.Grace.Much, s.needed+r.Grace.Needed, max(s.longest, r.Grace.Longest)
		if r.judged() {
			s.judged++
		}
		if r.Reached {
			s.reached++
		}
		if sum(r.Faults) == 0 {
			s.withoutFaults++
		}
		add(s.steps, r.Steps)
		add(s.faults, r.Faults)
		add(s.felt, r.Felt)
	}
	return s
}

func add(to, counts map[string]int) {
	for kind, n := range counts {
		to[kind] += n
	}
}

// table formats totals as aligned Markdown.
func table(run, all totals) string {
	var b strings.Builder
	row := func(what string, run, all any) { fmt.Fprintf(&b, "| %-48s | %9v | %9v |\n", what, run, all) }
	row("", "this run", "added up")
	fmt.Fprintf(&b, "|%s|%s|%s|\n", strings.Repeat("-", 50), strings.Repeat("-", 10)+":", strings.Repeat("-", 10)+":")
	row("plans of which the outcome is known", run.plans, all.plans)
	row("plans that were judged", run.judged, all.judged)
	row("groups of three zones", run.groups, all.groups)
	row("StatefulClusters", run.pools, all.pools)
	for _, kind := range slices.Sorted(maps.Keys(all.steps)) {
		row("asked: "+kind, run.steps[kind], all.steps[kind])
	}
	row("pods that served, deleted or evicted", run.disruptions, all.disruptions)
	row("of these, pods of StatefulClusters", run.ofPools, all.ofPools)
	for _, kind := range slices.Sorted(maps.Keys(all.faults)) {
		row("fault: "+kind, run.faults[kind], all.faults[kind])
	}
	row("faults", sum(run.faults), sum(all.faults))
	row("plans that no fault of their own met", run.withoutFaults, all.withoutFaults)
	for _, kind := range slices.Sorted(maps.Keys(all.felt)) {
		row("felt: "+kind, run.felt[kind], all.felt[kind])
	}
	row("evictions granted, by the audit log", run.granted, all.granted)
	row("evictions that took down a pod that was up", run.evicted, all.evicted)
	row("pods judged at 1 s of grace, as always", run.disruptions-run.longer, all.disruptions-all.longer)
	row("pods judged at 1 to 3 s, by whom could not know", run.longer-run.much, all.longer-all.much)
	row("pods judged at more", run.much, all.much)
	row("longest grace", fmt.Sprintf("%.1f s", run.longest), fmt.Sprintf("%.1f s", all.longest))
	row("objections if 1 s were all the grace there is", run.needed, all.needed)
	row("violations", run.violations, all.violations)
	row("operators that failed", run.failures, all.failures)
	row("attempts", run.attempts, all.attempts)
	row("attempts that could not be judged", run.unjudged, all.unjudged)
	row("attempts that could not be carried out", run.undone, all.undone)
	row("goals reached", fmt.Sprintf("%d/%d", run.reached, run.plans), fmt.Sprintf("%d/%d", all.reached, all.plans))
	return b.String()
}
