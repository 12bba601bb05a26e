package pool

import (
	"cmp"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// surplus deletes the pods that are too many, and cancels recorded deletions that are no longer asked for. Lowering the
// replicas by a number ends exactly that many pods, so each end is recorded first, also that of a pod that is down: a
// process that was suspended may still send it. Therefore no pod is deleted before each cancellation is seen: one that fails
// shows that its pod leaves. No pod leaves for a hand-over that is not recorded yet.
func (p *poolState) surplus() (steps, waits []plan.Action) {
	leaves := p.stillLeave()
	if cancellations := p.leaveNoMore(leaves); len(cancellations) > 0 {
		return cancellations, nil
	}
	lowered, unrecorded := p.toScaleDown(), p.unrecorded()
	for i := range max(0, leaves-unrecorded) {
		steps = append(steps, p.deletion(&p.leaving[i], p.pendingOf[p.leaving[i].Name].Cause))
	}
	for i := range p.leaveNow() - unrecorded {
		pod := &p.staying[i]
		because := reason.ReplicasExceeded
		if i < lowered || !p.recordsReplicas() {
			because = reason.ScaledDown
		}
		switch {
		case p.isInDoubt(pod, because):
			waits = append(waits, p.waits(plan.Refusal{Code: reason.TooManyUnhealthy, Pod: pod.Name})...)
		case p.hasRoom(pod):
			steps = append(steps, p.deletion(pod, because))
		}
	}
	return steps, waits
}

// stillLeave is how many of the leaving pods are too many.
func (p *poolState) stillLeave() int {
	wanted := max(0, p.Object.Replicas+p.surge-len(p.staying)-len(p.handovers))
	return max(0, len(p.leaving)-wanted)
}

// leaveNoMore cancels the recorded deletions of pods that are too many, if only some of them still have to leave, if more pods are
// asked for since, or in doubt. The last ones to leave stay.
func (p *poolState) leaveNoMore(leaves int) []plan.Action {
	var steps []plan.Action
	lowered := p.lowered()
	for i := range p.leaving {
		pod := &p.leaving[i]
		because := p.pendingOf[pod.Name].Cause
		raised := because == reason.ScaledDown && p.recordsReplicas() && lowered <= 0
		if i >= leaves || raised || p.isInDoubt(pod, because) {
			steps = append(steps, p.cancellation(pod))
		}
		lowered -= one(because == reason.ScaledDown)
	}
	return steps
}

// isInDoubt reports whether a pod that is too many stays: fewer pods are not asked for, and its copy of the data may be needed. Where
// it is not known whether fewer are asked for, the copy on a node that may come back stays while no other one is available.
func (p *poolState) isInDoubt(pod *Pod, because reason.Code) bool {
	isLost := p.ailing[pod.Name].cause == reason.NodeGone
	isCopy := p.Object.Replicas > 0 && p.unwell(pod) && !isLost && !pod.Asked && p.hasClaims(pod) && !p.hasNoData(pod)
	unknown := !p.recordsReplicas() && !pod.Node.Silent.IsZero() && p.countAvailable() == 0
	return (because == reason.ReplicasExceeded || unknown) && isCopy && !p.mayGiveUpInDoubt(pod)
}

// othersLeave reports whether pods still have to leave because fewer are asked for, or may have to. One whose end is recorded for another
// reason may leave as such.
func (p *poolState) othersLeave() bool {
	return (p.excess() > 0 || p.stillLeave() > 0) && (p.toScaleDown() > 0 || !p.recordsReplicas())
}

// isSurplus reports whether a pod leaves because it is too many.
func isSurplus(cause reason.Code) bool {
	return cause == reason.ScaledDown || cause == reason.ReplicasExceeded
}

// leaveNow is how many of the pods that are too many leave now: one at a time if pods are ordered, once no pod terminates and each one
// that stays is available or has had its time to become Ready. So a pod that never does so leaves if it is too many itself.
func (p *poolState) leaveNow() int {
	if !p.Object.Ordered {
		return p.excess()
	}
	if len(p.leaving) > 0 || slices.ContainsFunc(p.Pods, p.terminatesInTime) || len(p.neededIf(p.starts)) > 0 {
		return 0
	}
	return min(p.excess(), 1)
}

// terminatesInTime reports whether a pod terminates, and its grace period lasts.
func (p *poolState) terminatesInTime(pod Pod) bool {
	return p.owns(&pod) && !pod.Finished && pod.Phase == plan.Terminating && pod.EndsBy.After(p.Now)
}

// recorded reports whether the hold has recorded the disruption of a pod for that cause, and it can still happen.
func (p *poolState) recorded(pod *Pod, cause reason.Code) bool {
	return p.pendingOf[pod.Name].Cause == cause
}

// hasRoom reports whether the hold can record the disruption of a pod, and counts it.
func (p *poolState) hasRoom(pod *Pod) bool {
	if p.openOf[pod.Name] {
		return true
	}
	if p.room <= 0 {
		return false
	}
	p.room--
	p.openOf[pod.Name] = true
	return true
}

// cancellation cancels the recorded disruption of a pod.
func (p *poolState) cancellation(pod *Pod) plan.Action {
	return plan.CancelDeletion{Intent: p.pendingOf[pod.Name], Because: plan.Refusal{Code: reason.DeletionCancelled}}
}

// deletion deletes a pod once the hold has recorded it.
func (p *poolState) deletion(pod *Pod, because reason.Code) plan.Action {
	return plan.DeletePod(p.disruption(pod, because))
}

// disruption is that of a pod which the hold records first, also if the pod is down.
func (p *poolState) disruption(pod *Pod, because reason.Code) plan.Disruption {
	return plan.Disruption{
		Zone: p.Key.Name, Pod: pod.Name, UID: pod.UID, Version: pod.Version, Up: true, AlreadyRecorded: p.recorded(pod, because), Because: because,
		NeedsLiveRead: slices.Contains(liveCauses, because),
	}
}

// liveCauses are the causes of which an older view may be wrong: it may lack claims, or show pods that are down.
var liveCauses = []reason.Code{reason.UpdatedByNewIdentity, reason.ReplicasExceeded}

// needed returns the pods that stay, without those that are too many.
func (p *poolState) needed() []Pod { return p.staying[min(p.excess(), len(p.staying)):] }

// leavesFirst orders pods by who leaves first: what serves least, then what has the lowest deletion cost, then what has
// served for the shortest time. So every process chooses the same.
func (p *poolState) leavesFirst(a, b Pod) int {
	return cmp.Or(
		first(p.granted(&a), p.granted(&b)),
		first(a.Asked, b.Asked),
		first(p.isNew(&a), p.isNew(&b)),
		first(p.hasNoData(&a), p.hasNoData(&b)),
		first(!a.Scheduled, !b.Scheduled),
		first(p.ails(&a), p.ails(&b)),
		first(!a.Up(), !b.Up()),
		first(!p.available(&a), !p.available(&b)),
		cmp.Compare(a.Cost, b.Cost),
		cmp.Compare(p.rankOf(&a), p.rankOf(&b)),
		-a.ReadySince.Compare(b.ReadySince),
		-cmp.Compare(a.Restarts, b.Restarts),
		-cmp.Compare(a.Created, b.Created),
		cmp.Compare(a.Name, b.Name),
	)
}

// rankOf orders pods by their revisions: those of earlier ones leave before those of the newest one, and those that are held back at an
// earlier one last.
func (p *poolState) rankOf(pod *Pod) int {
	switch {
	case p.heldBack[pod.Name]:
		return 2
	case pod.Revision == p.newest.Name:
		return 1
	}
	return 0
}

// stayEarlier returns the names of the pods that are held back at earlier revisions: all of them while updates are paused, otherwise as
// many as the partition keeps of the pods that are asked for, namely those that would be updated last.
func (p *poolState) stayEarlier() map[string]bool {
	kept := p.Object.Strategy.Partition.Of(p.Object.Replicas)
	if p.paused() {
		kept = len(p.staying)
	}
	if kept == 0 {
		return nil
	}
	var earlier []Pod
	for i := range p.staying {
		if p.staying[i].Revision != p.newest.Name {
			earlier = append(earlier, p.staying[i])
		}
	}
	slices.SortStableFunc(earlier, p.updatedFirst)
	names := map[string]bool{}
	for _, pod := range earlier[max(0, len(earlier)-kept):] {
		names[pod.Name] = true
	}
	return names
}

// first orders what has a property before what has it not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
