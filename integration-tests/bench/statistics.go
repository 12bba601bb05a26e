package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// quantile returns a quantile by nearest rank; 0 if there are no values.
func quantile[T int | float64 | time.Duration](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func median[T int | float64 | time.Duration](values []T) T { return quantile(values, 0.5) }

// durations returns one duration of every element.
func durations[E any](elements []E, of func(E) time.Duration) []time.Duration {
	values := make([]time.Duration, len(elements))
	for i, e := range elements {
		values[i] = of(e)
	}
	return values
}

// ratios returns the ratios element by element, because noise of the machine affects all contenders of
// a run.
func ratios(values, to []time.Duration) []float64 {
	var all []float64
	for i := range min(len(values), len(to)) {
		if to[i] > 0 {
			all = append(all, values[i].Seconds()/to[i].Seconds())
		}
	}
	return all
}

// spread formats the median, the minimum and the maximum of some ratios.
func spread(all []float64) string {
	if len(all) < 2 {
		return fmt.Sprintf("(%.2f)", median(all))
	}
	return fmt.Sprintf("(%.2f, %.2f to %.2f)", median(all), slices.Min(all), slices.Max(all))
}

// parts splits the turns into runs of equal length; the last run may be shorter.
func parts[T any](turns []T, runs int) [][]T {
	return slices.Collect(slices.Chunk(turns, max((len(turns)+runs-1)/runs, 1)))
}

// mostUnchanged returns the longest duration that counts as the same as d.
func mostUnchanged(d time.Duration) time.Duration {
	return time.Duration(maxUnchangedRatio * float64(d))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// milliseconds formats several durations: "9.1 / 28.3 ms".
func milliseconds(all ...time.Duration) string {
	texts := make([]string, len(all))
	for i, d := range all {
		texts[i] = fmt.Sprintf("%.1f", float64(d.Microseconds())/1000)
	}
	return strings.Join(texts, " / ") + " ms"
}
