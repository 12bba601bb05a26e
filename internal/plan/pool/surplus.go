package pool

import (
	"cmp"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// surplus deletes the pods that are too many, and cancels recorded deletions that are no longer asked for. Lowering the
// replicas by a number ends exactly that many pods, so each end is recorded first, also that of a pod that is down: a
// process that was suspended may still send it.
func (p *poolState) surplus() []plan.Action {
	var steps []plan.Action
	wanted := max(0, p.Object.Replicas-len(p.staying)) // of the leaving pods
	for i := range p.leaving {
		pod := &p.leaving[i]
		if i >= len(p.leaving)-wanted { // the last ones to leave stay
			steps = append(steps, plan.CancelDeletion{Intent: p.intentOf(pod), Because: plan.Refusal{Code: reason.DeletionCancelled}})
		} else {
			steps = append(steps, p.deletion(pod, true, reason.ScaledDown))
		}
	}
	room := plan.MaxIntents - p.open
	for i := range min(len(p.staying)-p.Object.Replicas, room) {
		steps = append(steps, p.deletion(&p.staying[i], false, reason.ScaledDown))
	}
	return steps
}

// finished deletes the pods whose containers have ended. Their identities are given up.
func (p *poolState) finished() []plan.Action {
	var steps []plan.Action
	for i := range p.ended {
		pod := &p.ended[i]
		recorded := p.intentOf(pod).UID != ""
		if !recorded && p.open >= plan.MaxIntents {
			continue
		}
		if !recorded {
			p.open++
		}
		steps = append(steps, p.deletion(pod, recorded, reason.PodFinished))
	}
	return steps
}

// deletion deletes a pod once the hold has recorded it.
func (p *poolState) deletion(pod *Pod, recorded bool, because reason.Code) plan.Action {
	return plan.DeletePod{
		Zone: p.Key.Name, Pod: pod.Name, UID: pod.UID, Version: pod.Version, Up: true, AlreadyRecorded: recorded, Because: because,
	}
}

// needed returns the pods that stay, without those that are too many.
func (p *poolState) needed() []Pod {
	return p.staying[max(0, len(p.staying)-p.Object.Replicas):]
}

// leavesFirst orders pods by who leaves first: what serves least, then what has the lowest deletion cost, then what has
// served for the shortest time. So every process chooses the same.
func leavesFirst(s *Snapshot) func(a, b Pod) int {
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	available := func(p *Pod) bool { return p.Available(s.Object.MinReady, s.Now) }
	return func(a, b Pod) int {
		return cmp.Or(
			first(len(s.claimsOf(a.ID)) == 0 && a.Gated, len(s.claimsOf(b.ID)) == 0 && b.Gated),
			first(!a.Scheduled, !b.Scheduled),
			first(!a.Up(), !b.Up()),
			first(!available(&a), !available(&b)),
			cmp.Compare(a.Cost, b.Cost),
			first(a.Revision != s.Object.Revision, b.Revision != s.Object.Revision),
			-compareTimes(a.ReadySince, b.ReadySince),
			-cmp.Compare(a.Restarts, b.Restarts),
			-cmp.Compare(a.Created, b.Created),
			cmp.Compare(a.Name, b.Name),
		)
	}
}

func compareTimes(a, b time.Time) int { return a.Compare(b) }
