package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table prints what was measured, each racer beside the floor of the same run.
func table(racers []*racer, pods int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d pods in %d zones, %d runs each, in turn\n\n", pods, zones, len(racers[0].timings))
	fmt.Fprintln(&b, "| what        | rollout, median (min to max) | times the floor, median | Ready to next delete, p50 | p99      |")
	fmt.Fprintln(&b, "|-------------|------------------------------|-------------------------|---------------------------|----------|")
	for _, r := range racers {
		totals, ratios, gaps := r.columns(racers[0])
		fmt.Fprintf(&b, "| %-11s | %-28s | %-23s | %-25s | %-8s |\n", r.name,
			fmt.Sprintf("%.3f s (%.3f to %.3f)", quantile(totals, 0.5).Seconds(), totals[0].Seconds(), totals[len(totals)-1].Seconds()),
			fmt.Sprintf("%.2f", ratios[len(ratios)/2]), millis(quantile(gaps, 0.5)), millis(quantile(gaps, 0.99)))
	}
	return b.String()
}

// columns returns what was measured, sorted; ratios are taken run by run.
func (r *racer) columns(floor *racer) (totals []time.Duration, ratios []float64, gaps []time.Duration) {
	for i, t := range r.timings {
		totals = append(totals, t.total)
		ratios = append(ratios, t.total.Seconds()/floor.timings[i].total.Seconds())
		gaps = append(gaps, t.gaps...)
	}
	slices.Sort(totals)
	slices.Sort(ratios)
	slices.Sort(gaps)
	return totals, ratios, gaps
}

// quantile of sorted values, by nearest rank; 0 of none.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
