package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// mostRefusalP99 is the goal for a refusal in lockstep's handler.
const mostRefusalP99 = 5 * time.Millisecond

// evictions measures what it takes to refuse an eviction, and to grant one.
func (b *bench) evictions(ctx context.Context) ([]row, error) {
	return b.inAuditedArena(ctx, "evictions", auditPolicyWithReads, func(ctx context.Context, a *arena) ([]row, error) {
		s, err := a.setEvictionsUp(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := a.askInTurn(ctx, s.endpoints, a.evict.pace, s.loads(a))
		if err != nil {
			return rows, err
		}
		more, err := a.grantEvictions(ctx, s)
		return append(rows, more...), err
	})
}

// handlerRow is about what lockstep's own metric says: the bound of the bucket that
// has p99.
func handlerRow(b buckets) row {
	bound := b.quantile(0.99)
	return row{
		what: "of this the handler, as lockstep counts it, p99", goal: fmt.Sprintf("p99 ≤ %d ms", mostRefusalP99.Milliseconds()),
		cells: map[string]string{lockstepName: "≤ " + strconv.FormatFloat(1000*bound, 'f', -1, 64) + " ms"},
		met:   verdictOf(bound > 0 && bound <= mostRefusalP99.Seconds()),
	}
}
