package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// mostDecisionP99 is the goal for a decision, at a client of the HTTPS endpoint.
const mostDecisionP99 = 10 * time.Millisecond

// notesEvery is how often somebody who is refused because others hold the group
// may be noted in its Lease.
const notesEvery = 10 * time.Second

// load is a kind of review that is asked at a constant rate.
type load struct {
	what      string
	goal      time.Duration // for p99, at a client; 0: none
	handler   string        // the webhook of which lockstep counts what its handler takes; empty: nobody asks
	reason    string        // of lockstep's answers
	allowed   bool
	notes     bool // a refusal may be noted in the group's Lease
	questions func(context.Context) ([]question, error)
}

// verdicts are what a load has shown.
type verdicts struct {
	took    map[string][][]time.Duration // by racer, run by run
	cpu     map[string]time.Duration     // of the webhook, by racer
	handled buckets                      // what lockstep's handler took

	// What lockstep asked the API server meanwhile.
	reads, writes int
	under         time.Duration // for how long
}

func newVerdicts() *verdicts {
	return &verdicts{took: map[string][][]time.Duration{}, cpu: map[string]time.Duration{}}
}

// webhookDecisions measures what a review takes, beside a webhook that allows
// everything: at a client of the HTTPS endpoint, and through the API server.
func (b *bench) webhookDecisions(ctx context.Context) ([]row, error) {
	return b.inAuditedArena(ctx, "webhooks", auditPolicyWithReads, func(ctx context.Context, a *arena) ([]row, error) {
		s, err := a.setWebhooksUp(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := a.askInTurn(ctx, s.endpoints, a.webhooks.pace, s.loads(a))
		if err != nil {
			return rows, err
		}
		more, err := a.shrinkInVain(ctx, s)
		return append(rows, more...), err
	})
}

// trial is a load that is put on lockstep's webhook and the floor's.
type trial struct {
	*endpoints
	load
	pace
	asks []question
	seen *verdicts
}

// askInTurn puts every load on every webhook, several times. Each run begins
// with the other one.
func (a *arena) askInTurn(ctx context.Context, e *endpoints, p pace, loads []load) ([]row, error) {
	var rows []row
	var all []*verdicts
	for _, l := range loads {
		asks, err := a.awaitVerdict(ctx, e, l)
		if err != nil {
			return rows, err
		}
		t := trial{e, l, p, asks, newVerdicts()}
		for run := range p.runs {
			for i := range 2 {
				name := []string{floorName, lockstepName}[(run+i)%2]
				if err := a.underLoad(ctx, t, name); err != nil {
					return rows, fmt.Errorf("%s: %s: %w", name, l.what, err)
				}
				took := t.seen.took[name][run]
				a.say("%s, run %d of %d: %-10s %s", l.what, run+1, p.runs, name, milliseconds(median(took), quantile(took, 0.99)))
			}
		}
		all = append(all, t.seen)
		rows = append(rows, t.rows()...)
	}
	return append(rows, cpuRow(all)), nil
}

// rows are about what a load has shown.
func (t trial) rows() []row {
	what := fmt.Sprintf("%s, %d a second, p50 / p99 of %d", t.what, t.rate, t.seen.asked(lockstepName))
	rows := []row{decisionRow(what, t.goal, t.seen.took)}
	if t.handler != "" {
		rows = append(rows, handlerRow(t.seen.handled))
	}
	if !t.allowed {
		rows = append(rows, requestsRow(t.load, t.seen))
	}
	return rows
}

// awaitVerdict returns a load's questions, once lockstep answers all of them as
// it should.
func (a *arena) awaitVerdict(ctx context.Context, e *endpoints, l load) ([]question, error) {
	var questions []question
	var last error
	err := a.await(ctx, "verdict: "+l.what, 1, func() (int, error) {
		var err error
		if questions, err = l.questions(ctx); err != nil {
			return 0, err
		}
		for _, q := range questions {
			if last = l.judged(ctx, e.listeners[lockstepName], q, "first"); last != nil {
				return 0, nil //nolint:nilerr // it is told when patience ends
			}
		}
		return 1, nil
	})
	if err != nil && last != nil {
		return nil, fmt.Errorf("%w: %w", err, last)
	}
	return questions, err
}

// underLoad measures one webhook for a while.
func (a *arena) underLoad(ctx context.Context, t trial, name string) error {
	if _, err := a.audit.next(); err != nil {
		return err
	}
	before, err := a.handled(ctx, t.handler)
	if err != nil {
		return err
	}
	racer := a.racers[slices.IndexFunc(a.racers, func(r *racer) bool { return r.name == name })]
	began, used := time.Now(), racer.cpu()
	took, err := openLoop(ctx, t.rate, t.window, func(ctx context.Context, i int) error {
		q, uid := t.asks[i%len(t.asks)], types.UID(fmt.Sprintf("%s-%d", name, i))
		if name == floorName {
			_, err := t.listeners[name].asked(ctx, q, uid)
			return err
		}
		return t.judged(ctx, t.listeners[name], q, uid)
	})
	if err != nil {
		return err
	}
	t.seen.took[name] = append(t.seen.took[name], took)
	t.seen.cpu[name] += racer.cpu() - used
	if name == floorName {
		return nil
	}
	if err := pause(ctx, afterglow); err != nil { // the log is written after the answer
		return err
	}
	t.seen.under += time.Since(began)
	after, err := a.handled(ctx, t.handler)
	if err != nil {
		return err
	}
	t.seen.handled.join(after.since(before))
	requests, err := a.audit.next()
	if err != nil {
		return err
	}
	t.seen.count(requests, racer.user)
	return nil
}

// count takes in what a user asked the API server. What he does at home, to stay
// leader, that he asks what he may do, and that he tells how a group or a budget stands is
// not about reviews.
func (v *verdicts) count(requests []request, user string) {
	for _, q := range requests {
		switch {
		case q.user != user || q.namespace == lockstepHome || q.resource == "selfsubjectaccessreviews", q.resource == "events",
			q.resource == disruptionBudgets.Resource+"/status", q.resource == "rolloutgroups", q.resource == "rolloutgroups/status":
		case q.verb == "get" || q.verb == "list":
			v.reads++
		default:
			v.writes++
		}
	}
}

// asked is how many reviews a racer has answered.
func (v *verdicts) asked(name string) int { return len(pooled(v.took[name])) }

// judged asks lockstep and says how its answer differs from the one that is due.
func (l load) judged(ctx context.Context, to listener, q question, uid types.UID) error {
	got, err := to.asked(ctx, q, uid)
	if err != nil {
		return err
	}
	if r := got.Response; r.Allowed != l.allowed || r.Notes.Reason != l.reason {
		return fmt.Errorf("allowed %t for %s, want %t for %s", r.Allowed, r.Notes.Reason, l.allowed, l.reason)
	}
	return nil
}

// decisionRow is about how long answers took: beside the floor's in the same run,
// at the median and at p99. A goal of 0 is none.
func decisionRow(what string, goal time.Duration, took map[string][][]time.Duration) row {
	r := row{what: what, cells: map[string]string{}}
	floors := took[floorName]
	for name, runs := range took {
		all := pooled(runs)
		r.cells[name] = milliseconds(median(all), quantile(all, 0.99))
		if name != floorName {
			r.cells[name] += " " + spread(timesFloor(runs, floors, 0.5)) + " / " + spread(timesFloor(runs, floors, 0.99))
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

// timesFloor are the runs' ratios of one quantile.
func timesFloor(runs, floors [][]time.Duration, q float64) []float64 {
	of := func(took []time.Duration) time.Duration { return quantile(took, q) }
	return ratios(durations(runs, of), durations(floors, of))
}

// requestsRow is about what lockstep asked the API server while it refused.
func requestsRow(l load, v *verdicts) row {
	r := row{what: "requests to the API server for these", goal: "0", cells: map[string]string{}}
	most := 0
	if l.notes {
		r.goal = fmt.Sprintf("0, a note a run and every %.0f s", notesEvery.Seconds())
		most = len(v.took[lockstepName]) + int(v.under/notesEvery) // the first one of a run may be due at once
	}
	r.cells[lockstepName] = fmt.Sprintf("%d reads, %d writes", v.reads, v.writes)
	r.met = verdictOf(v.reads == 0 && v.writes <= most)
	return r
}

// cpuRow is the mean over all reviews: the unit of the kernel's account is larger
// than what a single one takes.
func cpuRow(all []*verdicts) row {
	r := row{what: "CPU of the webhook for a review, mean of all", cells: map[string]string{}}
	for _, name := range []string{floorName, lockstepName} {
		var used time.Duration
		asked := 0
		for _, v := range all {
			used += v.cpu[name]
			asked += v.asked(name)
		}
		r.cells[name] = fmt.Sprintf("%.2f ms", float64((used/time.Duration(max(asked, 1))).Microseconds())/1000)
	}
	return r
}
