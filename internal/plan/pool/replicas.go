package pool

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Part is what the Lease of a pool records beside the hold.
type Part struct {
	// Replicas is how many pods were asked for, without those that are recorded to leave because fewer are asked for. So many
	// more of them may leave as it exceeds spec.replicas.
	Replicas int
	Recorded bool // the Lease has the number; without it, none may leave
}

// InProgress implements plan.Part.
func (Part) InProgress() plan.Holder { return "" }

// PartOf returns the part of a pool, which is empty if a Lease records none.
func PartOf(p plan.Part) Part {
	part, _ := p.(Part)
	return part
}

// RecordReplicas records in the Lease how many pods are asked for.
type RecordReplicas struct {
	Pool     string
	Replicas int
	Lowered  bool // no pod is too many any more, so a live read has to show all pods
}

// Reason implements plan.Action.
func (RecordReplicas) Reason() reason.Code { return reason.ReplicasRecorded }

// Effect implements plan.Action. A process that does not know what the last one was shown might record an earlier number.
func (a RecordReplicas) Effect() plan.Effect {
	read := plan.IfInherited
	if a.Lowered {
		read = plan.Always
	}
	return plan.Effect{Zone: a.Pool, Order: plan.WithLease, Records: true, Read: read}
}

// Event implements plan.Action.
func (RecordReplicas) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: record 3 replicas of web.
func (a RecordReplicas) String() string {
	return fmt.Sprintf("record %d replicas of %s", a.Replicas, a.Pool)
}

// Record implements plan.PartRecorder.
func (a RecordReplicas) Record(part plan.Part) plan.Part {
	next := PartOf(part)
	next.Replicas, next.Recorded = a.Replicas, true
	return next
}

// NextPart implements plan.Workload. The write that records that a pod leaves because fewer are asked for also takes it off the
// number of replicas, so no second pod leaves in its place. A pod that still exists when its intent is dropped counts again.
func (s *Snapshot) NextPart(recorded plan.Part, intents []plan.Intent) plan.Part {
	part := PartOf(recorded)
	if !part.Recorded {
		return recorded
	}
	for _, i := range intents {
		part.Replicas -= one(i.Cause == reason.ScaledDown && !scalesDown(s.Hold.Intents, i.UID))
	}
	for _, i := range s.Hold.Intents {
		pod, exists := s.podNamed(i.Pod)
		stays := exists && pod.UID == i.UID && s.owns(&pod) && pod.Active()
		part.Replicas += one(stays && i.Cause == reason.ScaledDown && !scalesDown(intents, i.UID))
	}
	return part
}

// scalesDown reports whether one of the intents is that a pod leaves because fewer are asked for.
func scalesDown(intents []plan.Intent, uid string) bool {
	return slices.ContainsFunc(intents, func(i plan.Intent) bool { return i.UID == uid && i.Cause == reason.ScaledDown })
}

// recordsReplicas reports whether the Lease records how many pods are asked for: claims are deleted because fewer are, or more pods
// exist at times although no fewer are. Once it does, it goes on.
func (p *poolState) recordsReplicas() bool {
	o := &p.Object
	return p.Part.Recorded || o.Claim.DeleteWhenScaled || o.Strategy.Policy == Recreate && o.Strategy.MaxSurge != Share{}
}

// replicas records how many pods are asked for once more are, and once none is too many any more. While pods are missing, it records how
// many exist: if the API server creates no more, and fewer are asked for again, the others leave. Most births need no record, and so
// do not wait for the live read that it may require.
func (p *poolState) replicas(births []plan.Action) []plan.Action {
	leave := slices.ContainsFunc(p.Hold.Intents, func(i plan.Intent) bool { return i.Cause == reason.ScaledDown })
	lowered := p.Part.Replicas > p.Object.Replicas && p.excess() == 0
	to := p.Object.Replicas
	if len(births) > 0 && !lowered {
		to = min(to, len(p.staying))
	}
	raised := p.Part.Replicas < to && !leave // the end of such an intent may raise the number as well
	if !p.recordsReplicas() || !raised && !lowered {
		return nil
	}
	return []plan.Action{RecordReplicas{Pool: p.Key.Name, Replicas: to, Lowered: lowered}}
}

// lowered is how many active pods leave because spec.replicas was lowered. Those that are recorded have been taken off the number.
func (p *poolState) lowered() int {
	n := p.Part.Replicas - p.Object.Replicas
	for _, pods := range [][]Pod{p.staying, p.leaving} {
		for i := range pods {
			n += one(scalesDown(p.Hold.Intents, pods[i].UID))
		}
	}
	return max(0, n)
}

// toScaleDown is how many of the staying pods leave because spec.replicas was lowered.
func (p *poolState) toScaleDown() int {
	n := p.lowered()
	for i := range p.leaving {
		n -= one(p.pendingOf[p.leaving[i].Name].Cause == reason.ScaledDown)
	}
	return max(0, n)
}
