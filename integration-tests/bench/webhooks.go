package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxDecisionP99 is the goal for a decision, measured by a client of the HTTPS endpoint.
const maxDecisionP99 = 10 * time.Millisecond

// refusalRecordInterval is how often a client that is refused because the group is held may be
// recorded in the group's Lease.
const refusalRecordInterval = 10 * time.Second

// load is a kind of review that is sent at a constant rate.
type load struct {
	what           string
	goal           time.Duration // for p99, measured by a client; 0: none
	handler        string        // the webhook whose handler lockstep measures; empty: not compared
	reason         string        // of lockstep's answers
	allowed        bool
	recordsRefusal bool // a refusal may be recorded in the group's Lease
	reviews        func(context.Context) ([]review, error)
}

// loadResult is the result of a load.
type loadResult struct {
	took    map[string][][]time.Duration // by contender, run by run
	cpu     map[string]time.Duration     // of the webhook, by contender
	handled buckets                      // durations of lockstep's handler

	// reads and writes are lockstep's requests to the API server during the load.
	reads, writes int
	duration      time.Duration // of the load
}

func newLoadResult() *loadResult {
	return &loadResult{took: map[string][][]time.Duration{}, cpu: map[string]time.Duration{}}
}

// webhookDecisions measures reviews, compared with a webhook that allows everything: at the HTTPS
// endpoint, and through the API server.
func (b *bench) webhookDecisions(ctx context.Context) ([]row, error) {
	return b.withAuditedTestbed(ctx, "webhooks", auditPolicyWithReads, func(ctx context.Context, tb *testbed) ([]row, error) {
		s, err := tb.setUpWebhooks(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := tb.runLoads(ctx, s.endpoints, tb.webhooks.pace, s.loads(tb))
		if err != nil {
			return rows, err
		}
		more, err := tb.refusedDownscales(ctx, s)
		return append(rows, more...), err
	})
}

// loadRun is a load for lockstep's webhook and the floor's.
type loadRun struct {
	*endpoints
	load
	pace
	reviews []review
	result  *loadResult
}

// runLoads sends every load to every webhook, several times. Each run begins with the other webhook.
func (tb *testbed) runLoads(ctx context.Context, e *endpoints, p pace, loads []load) ([]row, error) {
	var rows []row
	var all []*loadResult
	for _, l := range loads {
		reviews, err := tb.awaitAnswers(ctx, e, l)
		if err != nil {
			return rows, err
		}
		t := loadRun{e, l, p, reviews, newLoadResult()}
		for run := range p.runs {
			for i := range 2 {
				name := []string{floorName, lockstepName}[(run+i)%2]
				if err := tb.runLoad(ctx, t, name); err != nil {
					return rows, fmt.Errorf("%s: %s: %w", name, l.what, err)
				}
				took := t.result.took[name][run]
				tb.report("%s, run %d of %d: %-10s %s", l.what, run+1, p.runs, name, milliseconds(median(took), quantile(took, 0.99)))
			}
		}
		all = append(all, t.result)
		rows = append(rows, t.rows()...)
	}
	return append(rows, cpuRow(all)), nil
}

// rows are the rows about a load.
func (l loadRun) rows() []row {
	what := fmt.Sprintf("%s, %d a second, p50 / p99 of %d", l.what, l.rate, l.result.answered(lockstepName))
	rows := []row{decisionRow(what, l.goal, l.result.took)}
	if l.handler != "" {
		rows = append(rows, handlerRow(l.result.handled))
	}
	if !l.allowed {
		rows = append(rows, requestsRow(l.load, l.result))
	}
	return rows
}

// awaitAnswers returns a load's reviews when lockstep answers all of them as expected.
func (tb *testbed) awaitAnswers(ctx context.Context, e *endpoints, l load) ([]review, error) {
	var reviews []review
	var last error
	err := tb.await(ctx, "verdict: "+l.what, 1, func() (int, error) {
		var err error
		if reviews, err = l.reviews(ctx); err != nil {
			return 0, err
		}
		for _, q := range reviews {
			if last = l.check(ctx, e.clients[lockstepName], q, "first"); last != nil {
				return 0, nil //nolint:nilerr // returned when await times out
			}
		}
		return 1, nil
	})
	if err != nil && last != nil {
		return nil, fmt.Errorf("%w: %w", err, last)
	}
	return reviews, err
}

// runLoad measures one webhook for a while.
func (tb *testbed) runLoad(ctx context.Context, t loadRun, name string) error {
	if _, err := tb.audit.next(); err != nil {
		return err
	}
	before, err := tb.handlerDurations(ctx, t.handler)
	if err != nil {
		return err
	}
	contender := tb.contenders[slices.IndexFunc(tb.contenders, func(c *contender) bool { return c.name == name })]
	began, used := time.Now(), contender.cpu()
	took, err := openLoop(ctx, t.rate, t.window, func(ctx context.Context, i int) error {
		q, uid := t.reviews[i%len(t.reviews)], types.UID(fmt.Sprintf("%s-%d", name, i))
		if name == floorName {
			_, err := t.clients[name].send(ctx, q, uid)
			return err
		}
		return t.check(ctx, t.clients[name], q, uid)
	})
	if err != nil {
		return err
	}
	t.result.took[name] = append(t.result.took[name], took)
	t.result.cpu[name] += contender.cpu() - used
	if name == floorName {
		return nil
	}
	if err := pause(ctx, settleAfterRollout); err != nil { // the API server writes the audit log after the answer
		return err
	}
	t.result.duration += time.Since(began)
	after, err := tb.handlerDurations(ctx, t.handler)
	if err != nil {
		return err
	}
	t.result.handled.addAll(after.since(before))
	requests, err := tb.audit.next()
	if err != nil {
		return err
	}
	t.result.count(requests, contender.user)
	return nil
}

// count counts a user's requests to the API server. Leader election, access reviews, Events and
// statuses do not belong to reviews and are not counted.
func (r *loadResult) count(requests []request, user string) {
	for _, q := range requests {
		switch {
		case q.user != user || q.namespace == lockstepHome || q.resource == "selfsubjectaccessreviews", q.resource == "events",
			q.resource == disruptionBudgets.Resource+"/status", q.resource == "rolloutgroups", q.resource == "rolloutgroups/status":
		case q.verb == "get" || q.verb == "list":
			r.reads++
		default:
			r.writes++
		}
	}
}

// answered returns how many reviews a contender has answered.
func (r *loadResult) answered(name string) int { return len(pooled(r.took[name])) }

// check sends a review to lockstep and returns an error if the answer is not the expected one.
func (l load) check(ctx context.Context, to webhookClient, q review, uid types.UID) error {
	got, err := to.send(ctx, q, uid)
	if err != nil {
		return err
	}
	if r := got.Response; r.Allowed != l.allowed || r.AuditAnnotations.Reason != l.reason {
		return fmt.Errorf("allowed %t for %s, want %t for %s", r.Allowed, r.AuditAnnotations.Reason, l.allowed, l.reason)
	}
	return nil
}

// decisionRow is the row about the duration of answers and its ratio to the floor of the same run, at
// the median and at p99. A goal of 0 is none.
func decisionRow(what string, goal time.Duration, took map[string][][]time.Duration) row {
	r := row{what: what, cells: map[string]string{}}
	floors := took[floorName]
	for name, runs := range took {
		all := pooled(runs)
		r.cells[name] = milliseconds(median(all), quantile(all, 0.99))
		if name != floorName {
			r.cells[name] += " " + spread(floorRatios(runs, floors, 0.5)) + " / " + spread(floorRatios(runs, floors, 0.99))
		}
	}
	if goal > 0 {
		r.goal = fmt.Sprintf("p99 ≤ %d ms", goal.Milliseconds())
		r.met = verdictOf(quantile(pooled(took[lockstepName]), 0.99) <= goal)
	}
	return r
}

func pooled(runs [][]time.Duration) []time.Duration {
	var all []time.Duration
	for _, took := range runs {
		all = append(all, took...)
	}
	return all
}

// floorRatios returns the ratios of one quantile, run by run.
func floorRatios(runs, floors [][]time.Duration, q float64) []float64 {
	of := func(took []time.Duration) time.Duration { return quantile(took, q) }
	return ratios(durations(runs, of), durations(floors, of))
}

// requestsRow is the row about lockstep's requests to the API server while it refused.
func requestsRow(l load, v *loadResult) row {
	r := row{what: "requests to the API server for these", goal: "0", cells: map[string]string{}}
	limit := 0
	if l.recordsRefusal {
		r.goal = fmt.Sprintf("0, a note a run and every %.0f s", refusalRecordInterval.Seconds())
		limit = len(v.took[lockstepName]) + int(v.duration/refusalRecordInterval) // the first record of a run may be due at once
	}
	r.cells[lockstepName] = fmt.Sprintf("%d reads, %d writes", v.reads, v.writes)
	r.met = verdictOf(v.reads == 0 && v.writes <= limit)
	return r
}

// cpuRow is the mean CPU time of all reviews. A single review takes less than the kernel's unit.
func cpuRow(all []*loadResult) row {
	r := row{what: "CPU of the webhook for a review, mean of all", cells: map[string]string{}}
	for _, name := range []string{floorName, lockstepName} {
		var used time.Duration
		answered := 0
		for _, v := range all {
			used += v.cpu[name]
			answered += v.answered(name)
		}
		r.cells[name] = fmt.Sprintf("%.2f ms", float64((used/time.Duration(max(answered, 1))).Microseconds())/1000)
	}
	return r
}
