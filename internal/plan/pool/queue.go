package pool

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Updates and the clients that wait to evict a pod take turns. Each of the two sides has a place in the queue: the client
// that has waited longest, and one pod that is to be updated. The side with the earlier place comes first, so a client whose
// evictions are allowed and never happen delays no update without end, and an update of many pods delays no drain.

// evictionPlace returns the place of the clients that wait to evict a pod, if one still counts.
func (p *poolState) evictionPlace() (plan.Waiting, bool) {
	return p.place(func(w plan.Waiting) bool { return w.Operation == plan.EvictionOperation })
}

// updatePlace returns the place of the next update. It belongs to one pod, and ends when the update of that pod is recorded.
func (p *poolState) updatePlace() (plan.Waiting, bool) {
	return p.place(func(w plan.Waiting) bool {
		pod, exists := p.podNamed(w.Zone)
		waits := exists && p.owns(&pod) && pod.Active() && !p.openOf[pod.Name] && (pod.Asked || pod.Revision != p.newest.Name)
		return w.Operation == plan.RolloutOperation && waits
	})
}

func (p *poolState) place(of func(plan.Waiting) bool) (plan.Waiting, bool) {
	i := slices.IndexFunc(p.Hold.Waiting, func(w plan.Waiting) bool { return of(w) && w.Counts(p.Now) })
	if i < 0 {
		return plan.Waiting{}, false
	}
	return p.Hold.Waiting[i], true
}

// evictionComesFirst reports whether a client waits to evict a pod, and not after the next update.
func (p *poolState) evictionComesFirst() bool {
	eviction, waits := p.evictionPlace()
	update, updateWaits := p.updatePlace()
	return waits && (!updateWaits || !update.Since.Before(eviction.Since))
}

// updateComesFirst objects to an eviction while the next update has waited for longer.
func (p *poolState) updateComesFirst(*Pod) plan.Refusal {
	update, waits := p.updatePlace()
	eviction, evictionWaits := p.evictionPlace()
	if !waits || evictionWaits && !update.Since.Before(eviction.Since) {
		return plan.Refusal{}
	}
	return plan.Refusal{Code: reason.UpdateWaits, Pod: update.Zone, Until: update.Until()}
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

// takePlace puts the update of a pod into the queue, unless another one has a place, and renews that place in time.
func (p *poolState) takePlace(pod string) []plan.Action {
	place, waits := p.updatePlace()
	switch {
	case !waits:
		place = plan.Waiting{Operation: plan.RolloutOperation, Zone: pod, Since: p.Now}
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
		if w.Operation == plan.RolloutOperation {
			due = append(due, w.LastSeen.Add(plan.AskAgain))
		}
		due = append(due, w.Until())
	}
	return slices.DeleteFunc(due, func(at time.Time) bool { return !at.After(p.Now) })
}
