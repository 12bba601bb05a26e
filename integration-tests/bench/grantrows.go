package main

import (
	"fmt"
	"slices"
	"time"
)

// mostWrites is the goal for what a grant takes beyond an eviction that everything
// allows, in Lease updates: it waits for one.
const mostWrites = 2

// rows are about grants with so many reads each, whose turns are told as so many runs.
func (g grants) rows(what string, reads, runs int) []row {
	took := map[string][][]time.Duration{}
	for _, name := range []string{floorName, lockstepName} {
		took[name] = parts(g.took[name], runs)
	}
	rows := []row{decisionRow(fmt.Sprintf("%s, p50 / p99 of %d", what, len(g.under)), 0, took)}
	return append(rows, g.beyondRow(reads == 0, runs), g.requestsRow(reads))
}

// beyondRow is about what a grant takes longer than the floor, turn by turn.
func (g grants) beyondRow(bounded bool, runs int) row {
	var times []float64
	writes := parts(g.took[bareWrite], runs)
	for i, beyond := range parts(g.beyond(), runs) {
		times = append(times, median(beyond).Seconds()/median(writes[i]).Seconds())
	}
	r := row{what: "of this beyond the floor, beside one bare Lease update, p50", cells: map[string]string{
		floorName: milliseconds(median(g.took[bareWrite])), lockstepName: milliseconds(median(g.beyond())) + " " + spread(times),
	}}
	if bounded {
		r.goal, r.met = fmt.Sprintf("≤ %d × the update", mostWrites), verdictOf(median(times) <= mostWrites)
	}
	return r
}

func (g grants) beyond() []time.Duration {
	var all []time.Duration
	for i, took := range g.took[lockstepName] {
		all = append(all, took-g.took[floorName][i])
	}
	return all
}

// requestsRow is about what lockstep asked the API server while the evictions were
// under way.
func (g grants) requestsRow(reads int) row {
	v := newVerdicts()
	for _, q := range g.requests {
		if slices.ContainsFunc(g.under, func(s span) bool { return !q.at.Before(s.from) && !q.at.After(s.to) }) {
			v.count([]request{q}, q.user)
		}
	}
	count := max(len(g.under), 1)
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
