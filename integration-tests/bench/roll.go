package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// rollout is the result of one rollout of one or more groups.
type rollout struct {
	began        time.Time
	total        time.Duration // from the change of the templates until the last pod is ready
	cpu          time.Duration // CPU time of the operator
	steps        []step
	deletions    []deletion
	statusWrites map[string][]time.Time // by RolloutGroup: when the API server received a status
}

// roll changes the templates of groups at once and waits until every pod is replaced and ready.
func (tb *testbed) roll(ctx context.Context, c *contender, groups []*group, onDisruption func(int)) (rollout, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, g := range groups {
		g.image++
	}
	podEvents, err := tb.watchPods(ctx, "", contenderLabel+"="+groups[0].contender)
	if err != nil {
		return rollout{}, err
	}
	observer := newRolloutObserver(groups)
	observer.onDisruption = onDisruption
	floors, changed := tb.startFloors(ctx, c, groups)
	if _, err := tb.audit.next(); err != nil {
		return rollout{}, err
	}
	cpu := c.cpu()
	result := rollout{began: time.Now()}
	if err := inParallel(groups, func(g *group) error { return tb.change(ctx, g) }); err != nil {
		return rollout{}, err
	}
	close(changed)
	if err := observer.watch(ctx, podEvents, floors); err != nil {
		return rollout{}, err
	}
	if err := pause(ctx, settleAfterRollout); err != nil {
		return rollout{}, err
	}
	result.cpu = c.cpu() - cpu
	return result, tb.measure(&result, observer, c)
}

// settleAfterRollout is the time after a rollout in which the operator's CPU time still counts for it.
const settleAfterRollout = 200 * time.Millisecond

// startFloors starts the bare loops, one for each group, if the contender is the floor. They wait
// until changed is closed. The first channel returns their errors.
func (tb *testbed) startFloors(ctx context.Context, c *contender, groups []*group) (<-chan error, chan struct{}) {
	errs, changed := make(chan error, len(groups)), make(chan struct{})
	if c.isFloor() {
		for _, g := range groups {
			go func() {
				if err := tb.runFloorLoop(ctx, g, changed); err != nil {
					errs <- err
				}
			}()
		}
	}
	return errs, changed
}

// watch records events until all groups are finished.
func (o *rolloutObserver) watch(ctx context.Context, podEvents <-chan podEvent, floors <-chan error) error {
	for o.unfinished > 0 {
		select {
		case s, open := <-podEvents:
			if !open {
				return errors.Join(context.Cause(ctx), errors.New("the watch of pods has ended"))
			}
			o.observe(s)
		case err := <-floors:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(stallTimeout):
			return fmt.Errorf("no progress for %s: %d groups are not finished", stallTimeout, o.unfinished)
		}
	}
	return nil
}

// measure fills in the result from the observer and the audit log. It returns an error if the rollout
// did something forbidden.
func (tb *testbed) measure(result *rollout, o *rolloutObserver, c *contender) error {
	requests, err := tb.audit.next()
	if err != nil {
		return err
	}
	own := map[string][]request{} // by namespace
	result.statusWrites = map[string][]time.Time{}
	for _, q := range requests {
		if q.user == c.user && q.resource == "rolloutgroups/status" {
			result.statusWrites[q.namespace+"/"+q.name] = append(result.statusWrites[q.namespace+"/"+q.name], q.at)
		}
		if q.user == c.user && q.code < 300 && (q.resource == "pods" || q.resource == "leases") {
			own[q.namespace] = append(own[q.namespace], q)
		}
	}
	for _, r := range o.groups {
		writes := own[r.group.namespace]
		deletions := r.deletions(writes)
		if violated := violation(deletions); violated != "" {
			return fmt.Errorf("%s %s, in %s%s", c.name, violated, r.group.key(), r.eventLog())
		}
		result.total = max(result.total, r.finished.Sub(result.began))
		result.steps = append(result.steps, r.steps(deletions, writes)...)
		result.deletions = append(result.deletions, deletions...)
	}
	return nil
}
