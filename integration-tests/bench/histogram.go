package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// buckets is a histogram: how many observations were at most as large as each bound, in seconds.
type buckets struct {
	bounds []float64 // ascending; the last one is infinite
	counts []float64
}

var bucketLine = regexp.MustCompile(`^(\w+)_bucket\{(.*)\} (\S+)$`)

// bucketsOf sums up the series of a histogram that have the label, from metrics in text format.
func bucketsOf(text, metric, label, value string) (buckets, error) {
	var b buckets
	for line := range strings.Lines(text) {
		parts := bucketLine.FindStringSubmatch(strings.TrimSpace(line))
		if parts == nil || parts[1] != metric || !strings.Contains(","+parts[2], fmt.Sprintf(",%s=%q", label, value)) {
			continue
		}
		_, rest, _ := strings.Cut(","+parts[2], `,le="`)
		bound, _, _ := strings.Cut(rest, `"`)
		le, wrong := strconv.ParseFloat(bound, 64)
		count, alsoWrong := strconv.ParseFloat(parts[3], 64)
		if wrong != nil || alsoWrong != nil {
			return b, fmt.Errorf("read metrics: %q is not a bucket", line)
		}
		b.add(le, count)
	}
	return b, nil
}

// add adds one bucket of a series. The buckets of a series arrive in ascending order.
func (b *buckets) add(bound, count float64) {
	for i, known := range b.bounds {
		if known == bound {
			b.counts[i] += count
			return
		}
	}
	b.bounds, b.counts = append(b.bounds, bound), append(b.counts, count)
}

func (b buckets) total() float64 {
	if len(b.counts) == 0 {
		return 0
	}
	return b.counts[len(b.counts)-1]
}

// addAll adds another histogram.
func (b *buckets) addAll(other buckets) {
	for i, bound := range other.bounds {
		b.add(bound, other.counts[i])
	}
}

// since returns the observations that were added after an earlier histogram.
func (b buckets) since(before buckets) buckets {
	added := buckets{bounds: slices.Clone(b.bounds), counts: slices.Clone(b.counts)}
	for i, bound := range before.bounds {
		added.add(bound, -before.counts[i])
	}
	return added
}

// quantile returns the bound of the bucket that contains the quantile, in seconds; 0 if there are no
// observations.
func (b buckets) quantile(q float64) float64 {
	for i, count := range b.counts {
		if count > 0 && count >= q*b.total() {
			return b.bounds[i]
		}
	}
	return 0
}
