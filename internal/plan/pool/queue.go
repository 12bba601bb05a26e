package pool

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Updates and the clients that wait to evict a pod take turns. Each of the two sides has one place in the queue: the client
// that has waited longest, and the next update of a pod that serves. The side with the earlier place comes first, so a
// client whose evictions are allowed and never happen delays no update without end, and an update of many pods delays no
// drain.

// waiting returns the place of an operation in the queue, if it still counts.
func (p *poolState) waiting(operation plan.Operation) (plan.Waiting, bool) {
	i := slices.IndexFunc(p.Hold.Waiting, func(w plan.Waiting) bool { return w.Operation == operation && w.Counts(p.Now) })
	if i < 0 {
		return plan.Waiting{}, false
	}
	return p.Hold.Waiting[i], true
}

// evictionComesFirst reports whether a client waits to evict a pod, and not after the next update.
func (p *poolState) evictionComesFirst() bool {
	eviction, waits := p.waiting(plan.EvictionOperation)
	update, updateWaits := p.waiting(plan.StatefulClusterOperation)
	return waits && (!updateWaits || !update.Since.Before(eviction.Since))
}

// updateComesFirst objects to an eviction while the next update has waited for longer.
func (p *poolState) updateComesFirst(*Pod) plan.Refusal {
	update, waits := p.waiting(plan.StatefulClusterOperation)
	eviction, evictionWaits := p.waiting(plan.EvictionOperation)
	if !waits || evictionWaits && !update.Since.Before(eviction.Since) {
		return plan.Refusal{}
	}
	return plan.Refusal{Code: reason.UpdateWaits, Until: update.Until()}
}

// onlyEvictionsDelay reports whether nothing but evictions stands in the way of an update: clients wait for their turn, or
// may still evict a pod. After it, so many pods would be unavailable, of at most so many.
func (p *poolState) onlyEvictionsDelay(unavailable, most int) bool {
	granted := 0
	for i := range p.staying {
		if pod := &p.staying[i]; p.granted(pod) && p.available(pod) {
			granted++
		}
	}
	return unavailable-granted <= most && (unavailable > most || p.evictionComesFirst())
}

// takePlace puts the next update into the queue, and renews its place in time.
func (p *poolState) takePlace() []plan.Action {
	place, waits := p.waiting(plan.StatefulClusterOperation)
	switch {
	case !waits:
		place = plan.Waiting{Operation: plan.StatefulClusterOperation, Zone: p.Key.Name, Since: p.Now}
	case p.Now.Before(place.LastSeen.Add(plan.AskAgain)):
		return nil
	}
	place.LastSeen = p.Now
	return []plan.Action{plan.Enqueue{Waiting: place}}
}

// turns returns when the queue changes by itself: a place is to be renewed, or no longer counts.
func (p *poolState) turns() []time.Time {
	var due []time.Time
	for _, w := range p.Hold.Waiting {
		if w.Operation == plan.StatefulClusterOperation {
			due = append(due, w.LastSeen.Add(plan.AskAgain))
		}
		due = append(due, w.Until())
	}
	return slices.DeleteFunc(due, func(at time.Time) bool { return !at.After(p.Now) })
}
