package main

import (
	"fmt"
	"slices"
	"time"
)

// maxLeaseUpdates is the goal for the overhead of a grant over an eviction without checks, in Lease
// updates. A grant waits for one update.
const maxLeaseUpdates = 2

// rows are the rows about grants with this number of live reads each. The turns are split into runs.
func (g grants) rows(what string, reads, runs int) []row {
	took := map[string][][]time.Duration{}
	for _, name := range []string{floorName, lockstepName} {
		took[name] = parts(g.took[name], runs)
	}
	rows := []row{decisionRow(fmt.Sprintf("%s, p50 / p99 of %d", what, len(g.spans)), 0, took)}
	return append(rows, g.overheadRow(reads == 0, runs), g.requestsRow(reads))
}

// overheadRow is the row about the overhead of a grant over the floor, turn by turn.
func (g grants) overheadRow(bounded bool, runs int) row {
	var times []float64
	writes := parts(g.took[bareUpdate], runs)
	for i, overhead := range parts(g.overhead(), runs) {
		times = append(times, median(overhead).Seconds()/median(writes[i]).Seconds())
	}
	r := row{what: "of this beyond the floor, compared with one Lease update, p50", cells: map[string]string{
		floorName: milliseconds(median(g.took[bareUpdate])), lockstepName: milliseconds(median(g.overhead())) + " " + spread(times),
	}}
	if bounded {
		r.goal, r.met = fmt.Sprintf("≤ %d × the update", maxLeaseUpdates), verdictOf(median(times) <= maxLeaseUpdates)
	}
	return r
}

func (g grants) overhead() []time.Duration {
	var all []time.Duration
	for i, took := range g.took[lockstepName] {
		all = append(all, took-g.took[floorName][i])
	}
	return all
}

// requestsRow is the row about lockstep's requests to the API server during the evictions.
func (g grants) requestsRow(reads int) row {
	v := newLoadResult()
	for _, q := range g.requests {
		if slices.ContainsFunc(g.spans, func(s span) bool { return !q.at.Before(s.from) && !q.at.After(s.to) }) {
			v.count([]request{q}, q.user)
		}
	}
	count := max(len(g.spans), 1)
	each := func(n int) float64 { return float64(n) / float64(count) }
	goal := "1 write"
	if reads > 0 {
		goal += fmt.Sprintf(", ≤ %d reads", reads)
	}
	return row{
		what: "requests to the API server for one", goal: goal,
		cells: map[string]string{lockstepName: fmt.Sprintf("%.2f reads, %.2f writes", each(v.reads), each(v.writes))},
		met:   verdictOf(v.writes == count && v.reads <= reads*count),
	}
}
