package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// poolRun is what a contender did for one change of its pool.
type poolRun struct {
	rollout
	writes   []request // of the contender, in the namespace of the pool
	finished *poolView
	mostDown int // pods that were not ready at the same time
}

// poolSeries is the results of one contender, run by run.
type poolSeries []poolRun

// rollouts returns the durations and CPU times of all runs.
func (s poolSeries) rollouts() series {
	all := make(series, len(s))
	for i, r := range s {
		all[i] = r.rollout
	}
	return all
}

// rolloutsOf returns the durations and CPU times of all contenders.
func rolloutsOf(all map[string]poolSeries) map[string]series {
	of := map[string]series{}
	for name, s := range all {
		of[name] = s.rollouts()
	}
	return of
}

// count returns how many writes of a run satisfy a condition.
func (r poolRun) count(is func(request) bool) int {
	count := 0
	for _, q := range r.writes {
		if q.code < 300 && is(q) {
			count++
		}
	}
	return count
}

// is returns the condition that a request has a verb and a resource.
func is(verb, resource string) func(request) bool {
	return func(q request) bool { return q.verb == verb && q.resource == resource }
}

// runPool calls change, and returns when the watch of the pool's pods shows what done expects.
func (tb *testbed) runPool(ctx context.Context, c *poolContender, change func() error, done func(*poolView) bool) (poolRun, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events, err := tb.watchPods(ctx, c.pool.namespace, poolLabel+"="+c.pool.name)
	if err != nil {
		return poolRun{}, err
	}
	if _, err := tb.audit.next(); err != nil {
		return poolRun{}, err
	}
	cpu := c.cpu()
	r := poolRun{rollout: rollout{began: time.Now()}}
	if err := change(); err != nil {
		return poolRun{}, err
	}
	ended, err := r.watch(ctx, events, done)
	if err != nil {
		return poolRun{}, fmt.Errorf("pool %s of %s: %w", c.pool.name, c.name, err)
	}
	r.total = ended.Sub(r.began)
	if err := pause(ctx, settleAfterRollout); err != nil {
		return poolRun{}, err
	}
	r.cpu = c.cpu() - cpu
	requests, err := tb.audit.next()
	for _, q := range requests {
		if c.writes(q) && q.namespace == c.pool.namespace {
			r.writes = append(r.writes, q)
		}
	}
	return r, err
}

// watch observes events until done accepts the pods, and returns the time of the last event. Events
// that were already there when the run began do not end it.
func (r *poolRun) watch(ctx context.Context, events <-chan podEvent, done func(*poolView) bool) (time.Time, error) {
	r.finished = newPoolView()
	for {
		select {
		case e, open := <-events:
			if !open {
				return time.Time{}, errors.Join(context.Cause(ctx), errors.New("the watch of pods has ended"))
			}
			r.finished.observe(e)
			if e.at.After(r.began) {
				r.mostDown = max(r.mostDown, r.finished.down())
			}
			if e.at.After(r.began) && done(r.finished) {
				return e.at, nil
			}
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-time.After(stallTimeout):
			return time.Time{}, fmt.Errorf("no event for %s: %d pods", stallTimeout, len(r.finished.pods))
		}
	}
}
