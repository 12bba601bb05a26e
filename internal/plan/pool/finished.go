package pool

import (
	"cmp"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// endedPod is a pod whose containers have ended.
type endedPod struct {
	Pod
	kept   bool // its identity is handed over
	pauses bool // it keeps its place for now, and neither is it replaced nor its identity handed over
}

// judge decides what becomes of the identity of a pod that has ended. One that is kept is not paused, unless its pod follows another
// one: then each next pod may end.
func (p *poolState) judge(pod Pod) endedPod {
	kept := p.keepsEnded(&pod)
	return endedPod{pod, kept, p.pauses(&pod) && (!kept || pod.From != "")}
}

// finished deletes the pods whose containers have ended. Their identities are given up, but for those that are kept.
func (p *poolState) finished() []plan.Action {
	var steps []plan.Action
	for i := range p.ended {
		pod := &p.ended[i]
		switch {
		case pod.pauses || !p.hasRoom(&pod.Pod):
		case pod.kept:
			steps = append(steps, p.handOver(&pod.Pod))
		default:
			d := p.disruption(&pod.Pod, reason.PodFinished)
			d.NeedsLiveRead = p.mayHaveData(&pod.Pod) // an older view may show pods available that have ended as well
			steps = append(steps, plan.DeletePod(d))
		}
	}
	return steps
}

// pausing is how many pods that have ended have their places because their replacements pause.
func (p *poolState) pausing() int {
	n := 0
	for i := range p.ended {
		n += one(p.ended[i].pauses && !p.isHandedOver(p.ended[i].ID))
	}
	return n
}

// keepsEnded reports whether the identity of a pod whose containers have ended is kept: Kubernetes removed it, a person asked for
// it, or it is needed in doubt. What the hold has recorded stays so.
func (p *poolState) keepsEnded(pod *Pod) bool {
	switch {
	case !p.whole(pod):
		return false
	case p.isRetained(pod), pod.Disrupted && p.Object.Keep.OnEviction, p.recorded(pod, reason.IdentityHandover):
		return true
	}
	return p.mayHaveData(pod) && !p.recorded(pod, reason.PodFinished) && !p.mayGiveUpEnded()
}

// mayHaveData reports whether the identity of a pod whose containers have ended may have had a pod that ran: one of its containers has,
// the kubelet ended it, or it follows another pod. A pod that is rejected by its node when it is young has never run, and that stays so
// while its replacement pauses. After a restart of the node, a rejected pod does not say whether it ran before, so one that was older may
// have. If nothing says when it ended, it is as old as it is now. If the node is gone, so may be its disks.
func (p *poolState) mayHaveData(pod *Pod) bool {
	ended := cmp.Or(pod.Ended, plan.UnixTimeOf(p.Now))
	old := !ended.Time().Before(pod.Created.Time().Add(longestPause))
	return (pod.Ran || pod.Disrupted || pod.From != "" || old) && !pod.Node.Gone && p.whole(pod)
}

// mayGiveUpEnded reports whether a further pod that has ended may lose its identity. If all nodes are shut down in order, their kubelets
// end one pod after the other. If no pods are asked for, no identity is needed.
func (p *poolState) mayGiveUpEnded() bool {
	another := slices.ContainsFunc(p.staying, func(other Pod) bool { return !p.down(&other) && !p.ails(&other) && !other.Asked })
	return p.Object.Replicas == 0 || another && p.fewAreUnavailable()
}
