package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// maxRefusalP99 is the goal for a refusal in lockstep's handler.
const maxRefusalP99 = 5 * time.Millisecond

// evictions measures refused and granted evictions.
func (b *bench) evictions(ctx context.Context) ([]row, error) {
	return b.withAuditedTestbed(ctx, "evictions", auditPolicyWithReads, func(ctx context.Context, tb *testbed) ([]row, error) {
		s, err := tb.setUpEvictions(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := tb.runLoads(ctx, s.endpoints, tb.evict.pace, s.loads(tb))
		if err != nil {
			return rows, err
		}
		more, err := tb.grantEvictions(ctx, s)
		return append(rows, more...), err
	})
}

// handlerRow is the row about lockstep's own histogram: the bound of the bucket that contains p99.
func handlerRow(b buckets) row {
	bound := b.quantile(0.99)
	return row{
		what: "of this the handler, as lockstep counts it, p99", goal: fmt.Sprintf("p99 ≤ %d ms", maxRefusalP99.Milliseconds()),
		cells: map[string]string{lockstepName: "≤ " + strconv.FormatFloat(1000*bound, 'f', -1, 64) + " ms"},
		met:   verdictOf(bound > 0 && bound <= maxRefusalP99.Seconds()),
	}
}
