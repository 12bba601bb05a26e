package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// rollout is what one rollout of one or more groups took.
type rollout struct {
	began time.Time
	total time.Duration // from the change of the templates to the last Ready
	cpu   time.Duration // of the operator
	steps []step
	deeds []deed
	shown map[string][]time.Time // by RolloutGroup: when the API server received a status
}

// roll changes the templates of groups of a racer at once and waits until every
// pod is replaced and Ready.
func (a *arena) roll(ctx context.Context, r *racer, groups []*group, onDown func(int)) (rollout, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, g := range groups {
		g.image++
	}
	seen, err := a.follow(ctx, "", racerLabel+"="+groups[0].racer)
	if err != nil {
		return rollout{}, err
	}
	w := newWitness(groups)
	w.onDown = onDown
	floors, changed := a.startFloors(ctx, r, groups)
	if _, err := a.audit.next(); err != nil {
		return rollout{}, err
	}
	cpu := r.cpu()
	result := rollout{began: time.Now()}
	if err := inParallel(groups, func(g *group) error { return a.change(ctx, g) }); err != nil {
		return rollout{}, err
	}
	close(changed)
	if err := w.watch(ctx, seen, floors); err != nil {
		return rollout{}, err
	}
	if err := pause(ctx, afterglow); err != nil {
		return rollout{}, err
	}
	result.cpu = r.cpu() - cpu
	return result, a.measure(&result, w, r)
}

// afterglow is how long an operator may tidy up on the rollout's bill.
const afterglow = 200 * time.Millisecond

// startFloors starts the bare loops, one for each group, if r is the floor. They
// wait for changed to be closed; what goes wrong with one comes out of the first
// channel.
func (a *arena) startFloors(ctx context.Context, r *racer, groups []*group) (<-chan error, chan struct{}) {
	wrong, changed := make(chan error, len(groups)), make(chan struct{})
	if r.isFloor() {
		for _, g := range groups {
			go func() {
				if err := a.deleteInTurn(ctx, g, changed); err != nil {
					wrong <- err
				}
			}()
		}
	}
	return wrong, changed
}

// watch takes sightings in until all groups are finished.
func (w *witness) watch(ctx context.Context, seen <-chan sighting, floors <-chan error) error {
	for w.left > 0 {
		select {
		case s, open := <-seen:
			if !open {
				return errors.Join(context.Cause(ctx), errors.New("the watch of pods has ended"))
			}
			w.see(s)
		case err := <-floors:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(patience):
			return fmt.Errorf("nothing has happened for %s, and %d groups are not finished", patience, w.left)
		}
	}
	return nil
}

// measure fills in what witness and audit log tell of the rollout. A rollout
// that did what it may not is not measured.
func (a *arena) measure(result *rollout, w *witness, r *racer) error {
	requests, err := a.audit.next()
	if err != nil {
		return err
	}
	mine := map[string][]request{} // by namespace
	result.shown = map[string][]time.Time{}
	for _, q := range requests {
		if q.user == r.user && q.resource == "rolloutgroups/status" {
			result.shown[q.namespace+"/"+q.name] = append(result.shown[q.namespace+"/"+q.name], q.at)
		}
		if q.user == r.user && q.code < 300 && (q.resource == "pods" || q.resource == "leases") {
			mine[q.namespace] = append(mine[q.namespace], q)
		}
	}
	for _, h := range w.groups {
		writes := mine[h.group.namespace]
		deeds := h.deeds(writes)
		if wrong := judge(deeds); wrong != "" {
			return fmt.Errorf("%s %s, in %s%s", r.name, wrong, h.group.key(), h.story())
		}
		result.total = max(result.total, h.finished.Sub(result.began))
		result.steps = append(result.steps, h.steps(deeds, writes)...)
		result.deeds = append(result.deeds, deeds...)
	}
	return nil
}
