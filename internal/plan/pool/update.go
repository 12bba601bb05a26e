package pool

import (
	"cmp"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// updates gives outdated pods the newest template, and returns why it does not update the others. A pod that serves is
// only disrupted if not more than MaxUnavailable pods are unavailable then, and not in a plan that does something else to
// pods. A pod that is down costs nothing, so a template that no pod can run heals by a corrected one.
func (p *poolState) updates(busy bool) (steps, waits []plan.Action) {
	pods, objection := append(p.toReplace(), p.begun()...), p.noUpdates()
	if objection.None() {
		pods = append(pods, p.outdated()...)
	} else {
		waits = p.waits(objection)
	}
	if objection.Code == reason.UpdatesByDeletion {
		pods = append(pods, p.likeNewest()...)
	}
	steps = p.withdrawn(pods)
	unavailable, waitsFor := p.unavailable()-p.spare(), map[string]bool{}
	delayed := "" // the first pod that only evictions delay
	rests := !objection.None()
	givesUpCopy := false // while the pods that serve stay as they are
	for i := range pods {
		pod := &pods[i]
		step, objection := p.updateOf(pod)
		if rests && pod.Update.Begun && step != nil && step.Reason() != reason.UpdatedInPlace { // it would be another update
			step, objection = nil, plan.Refusal{Code: reason.UpdateUnderway, Pod: pod.Name}
		} else if step == nil && objection.Code == reason.UpdateUnderway {
			waitsFor[pod.Name] = true
		}
		_, disrupts := step.(plan.Disruptive)
		_, prepares := step.(PrepareHandover)
		disrupts = disrupts || prepares
		after, most := unavailable, 0
		if step != nil {
			most = p.mostUnavailable(step.Reason())
		}
		if disrupts && !p.down(pod) {
			after++
		}
		endsCopy := p.endsCopy(step, pod)
		switch {
		case step == nil:
			waits = append(waits, p.waits(objection)...)
		case prepares && pod.Gated: // its claims belong to the former pod until it may be scheduled
		case p.pending(pod) && step.Reason() != p.pendingOf[pod.Name].Cause: // it is withdrawn
		case step.Reason() == reason.UpdatedByNewIdentity && p.othersLeave(): // its end would take the place of one of theirs
			steps = append(steps, p.cancelled(pod)...)
		case endsCopy && !p.mayGiveUpInDoubt(pod):
			steps = append(steps, p.cancelled(pod)...)
			waits = append(waits, p.waits(plan.Refusal{Code: reason.TooManyUnhealthy, Pod: pod.Name})...)
		case p.pending(pod) && pod.Up() && unavailable > most && !pod.Update.Begun: // others have failed since
			steps = append(steps, p.cancellation(pod))
		case p.pending(pod):
			steps = append(steps, step)
			givesUpCopy = givesUpCopy || endsCopy
		case pod.Update.Begun && p.hasRoom(pod): // it is unavailable until the end of its update
			steps = append(steps, step)
		case disrupts && pod.Up() && !busy && p.onlyEvictionsDelay(after, most):
			delayed = cmp.Or(delayed, pod.Name)
		case disrupts && pod.Up() && (busy || givesUpCopy || after > most):
		case disrupts && !p.hasRoom(pod):
		default:
			unavailable = after
			steps = append(steps, step)
			givesUpCopy = givesUpCopy || endsCopy
		}
	}
	steps = append(steps, p.standingGates(steps, waitsFor)...)
	if delayed != "" {
		steps = append(steps, p.takePlace(delayed)...)
		waits = append(waits, p.waits(plan.Refusal{Code: reason.EvictionWaits})...)
	}
	return steps, waits
}

// endsCopy reports whether a step of an update ends the identity of a pod that is down, and may come back with its data.
func (p *poolState) endsCopy(step plan.Action, pod *Pod) bool {
	return step != nil && step.Reason() == reason.UpdatedByNewIdentity && p.hasClaims(pod) && !p.hasNoData(pod) && !pod.Up()
}

// mostUnavailable is how many pods may be unavailable for a replacement of that cause. What has to leave for another reason than an
// update may do so one at a time, even if no update may make a pod unavailable.
func (p *poolState) mostUnavailable(cause reason.Code) int {
	most := p.Object.Strategy.MaxUnavailable.Of(p.Object.Replicas)
	if cause == reason.ReplacementAsked || cause == reason.ClaimLost {
		return max(1, most)
	}
	return most
}

func (p *poolState) waits(objection plan.Refusal) []plan.Action {
	return []plan.Action{plan.Wait{Zone: p.Key.Name, Because: objection}}
}

// paused reports whether no update begins now because a person paused updates.
func (p *poolState) paused() bool { return p.Object.PausedAt(p.Now) }

// noUpdates objects to every update.
func (p *poolState) noUpdates() plan.Refusal {
	switch {
	case p.newest.Name == "" && !p.Refused.None():
		return p.Refused
	case p.newest.Name == "":
		return plan.Refusal{Code: reason.TemplateUnchecked}
	case p.paused() && (!p.RolledOut() || slices.ContainsFunc(p.needed(), func(pod Pod) bool { return pod.Asked })):
		return plan.Refusal{Code: reason.UpdatesPaused, Until: p.Object.PausedUntil.Time}
	case p.RolledOut():
	case p.Object.Strategy.OnDelete:
		return plan.Refusal{Code: reason.UpdatesByDeletion}
	}
	return plan.Refusal{}
}

// toReplace returns the pods that a person asked to be replaced by new identities.
func (p *poolState) toReplace() []Pod {
	if p.paused() {
		return nil
	}
	return p.neededIf(func(pod *Pod) bool { return pod.Asked && !p.ails(pod) && !p.granted(pod) })
}

// begun returns the pods whose update in place has begun. It is completed, also while others do not begin.
func (p *poolState) begun() []Pod {
	if p.newest.Name == "" {
		return nil
	}
	return p.neededIf(func(pod *Pod) bool { return pod.Update.Begun && !pod.Asked && !p.ails(pod) && !p.granted(pod) })
}

// neededIf returns the needed pods that satisfy a condition.
func (p *poolState) neededIf(is func(*Pod) bool) []Pod {
	var pods []Pod
	needed := p.needed()
	for i := range needed {
		if is(&needed[i]) {
			pods = append(pods, needed[i])
		}
	}
	return pods
}

// outdated returns the pods that are to get the newest template, in their order: those whose update is recorded, those
// that are down, those of revisions that are neither the newest nor the one before, those of lower deletion cost, the
// youngest. The last ones stay if the partition asks for it.
func (p *poolState) outdated() []Pod {
	pods := p.neededIf(func(pod *Pod) bool {
		return pod.Revision != p.newest.Name && !pod.Update.Begun && !pod.Asked && !p.ails(pod) && !p.granted(pod)
	})
	slices.SortStableFunc(pods, p.updatedFirst)
	return pods[:max(0, len(pods)-p.Object.Strategy.Partition.Of(p.Object.Replicas))]
}

func (p *poolState) updatedFirst(a, b Pod) int {
	return cmp.Or(
		first(p.pending(&a), p.pending(&b)),
		first(!p.available(&a), !p.available(&b)),
		first(a.Revision != p.current.Name, b.Revision != p.current.Name),
		cmp.Compare(a.Cost, b.Cost),
		-cmp.Compare(a.Created, b.Created),
		cmp.Compare(a.Name, b.Name),
	)
}

// likeNewest returns the outdated pods that differ in nothing from those of the newest revision, such as adopted ones.
func (p *poolState) likeNewest() []Pod {
	return slices.DeleteFunc(p.outdated(), func(pod Pod) bool {
		change, known := p.changeOf(&pod)
		return !known || !change.Equal
	})
}

// pending reports whether the update of a pod is recorded and has not happened yet.
func (p *poolState) pending(pod *Pod) bool {
	return slices.Contains(updateCauses, p.pendingOf[pod.Name].Cause)
}

// updateCauses are how pods get the newest template, or are replaced because a person asked for it.
var updateCauses = []reason.Code{reason.IdentityHandover, reason.UpdatedInPlace, reason.UpdatedByNewIdentity, reason.ReplacementAsked}

// cancelled cancels the update of a pod if it is recorded.
func (p *poolState) cancelled(pod *Pod) []plan.Action {
	if !p.pending(pod) {
		return nil
	}
	return []plan.Action{p.cancellation(pod)}
}

// withdrawn cancels recorded updates that are no longer asked for.
func (p *poolState) withdrawn(pods []Pod) []plan.Action {
	var steps []plan.Action
	for _, pod := range p.needed() {
		if !p.pending(&pod) || p.ailing[pod.Name].cause == p.pendingOf[pod.Name].Cause {
			continue
		}
		asked := slices.ContainsFunc(pods, func(o Pod) bool { return o.Name == pod.Name })
		step, _ := p.updateOf(&pod)
		if !asked || step == nil || step.Reason() != p.pendingOf[pod.Name].Cause {
			steps = append(steps, p.cancellation(&pod))
		}
	}
	return steps
}

// updateOf returns how a pod gets the newest template, or why it does not.
func (p *poolState) updateOf(pod *Pod) (plan.Action, plan.Refusal) {
	if pod.Asked {
		return p.deletion(pod, reason.ReplacementAsked), plan.Refusal{}
	}
	change, known := p.changeOf(pod)
	policy := p.Object.Strategy.Policy
	allowed := policy == InPlaceIfPossible || policy == InPlaceOnly || pod.Revision == p.newest.Name // which it has, but for its resources
	isInPlace := (change.InPlace || change.Equal) && allowed && !p.resizeFails(pod, change)
	switch {
	case !known:
		return nil, plan.Refusal{Code: reason.TemplateUnchecked}
	case change.Equal && !pod.Update.Begun:
		return RelabelPod{Pool: p.Key.Name, Pod: pod.Name, UID: pod.UID, Version: pod.Version, Revision: p.newest.Name}, plan.Refusal{}
	case isInPlace && pod.runsAsBefore():
		return nil, plan.Refusal{Code: reason.UpdateUnderway, Pod: pod.Name}
	case isInPlace:
		return p.inPlace(pod, change)
	case policy == InPlaceOnly && pod.Update.Begun && !change.InPlace && !change.Equal:
		return p.back(pod, change)
	case policy == InPlaceOnly:
		return nil, plan.Refusal{Code: reason.InPlaceImpossible, Pod: pod.Name}
	case p.hasNoData(pod) && !p.whole(pod):
	case policy != Recreate && !pod.Node.Silent.IsZero():
		return nil, plan.Refusal{Code: reason.NodeSilent, Pod: pod.Name}
	case policy != Recreate && (p.whole(pod) || p.isStranded(pod)):
		return p.handOver(pod), plan.Refusal{}
	case policy != Recreate && len(pod.Mounts) > 0:
		return nil, plan.Refusal{Code: reason.ClaimLost, Pod: pod.Name}
	}
	return p.deletion(pod, reason.UpdatedByNewIdentity), plan.Refusal{}
}
