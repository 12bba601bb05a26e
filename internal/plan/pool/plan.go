package pool

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Plan returns the next actions for a pool, and what it waits for. It is empty only if the pool has reached its goal: as
// many available pods as asked for, no recorded disruption, and no claim without a pod that does not say so.
func Plan(s Snapshot) []plan.Action {
	if !s.Object.Exists() {
		return newPoolState(&s).release(nil)
	}
	if s.Object.Deleting {
		return []plan.Action{plan.Wait{Zone: s.Key.Name, Because: plan.Refusal{Code: reason.ObjectDeleting}}}
	}
	if s.Object.Unreadable != "" {
		return []plan.Action{plan.Wait{Zone: s.Key.Name, Because: plan.Refusal{Code: reason.TemplateInvalid, Detail: s.Object.Unreadable}}}
	}
	p := newPoolState(&s)
	births := p.births()
	adoptions, noAdoptions := p.adoptions()
	repairs, waits := p.repairs()
	surplus, noSurplus := p.surplus()
	ends := slices.Concat(p.finished(), surplus, repairs)
	updates, noUpdates := p.updates(len(births)+len(adoptions)+len(ends) > 0)
	steps := slices.Concat(p.revisions(), p.comparisons(), p.completions(updates), p.successors(), p.gates(), p.releases(), births, adoptions, p.ownership())
	steps = append(steps, p.preparations(slices.Concat(ends, updates))...)
	ends = slices.Concat(p.withoutGranted(ends), updates, p.keptIdentities(), p.retirements(), p.unretirements(), p.claimDeletions(), p.endedIntents(), p.replicas(births))
	waits = slices.Concat(waits, noSurplus, p.pausedReplacements())
	growth, noGrowth := p.growth()
	looks, noNodes := p.lookAtVolumes()
	if late := p.stuck(); !late.None() {
		waits = append(p.waits(late), waits...)
	}
	steps, waits = slices.Concat(steps, growth, looks, p.service(births)), slices.Concat(waits, p.neverMatched(), noNodes, noAdoptions, noUpdates, noGrowth)
	switch objection := p.held(); {
	case objection.None():
		steps = append(ends, steps...)
		steps = append(steps, p.release(steps)...)
	case len(ends) > 0 || p.vacant() > 0 && p.perhapsHandedOver() > 0:
		waits = append(waits, p.waits(objection)...)
	}
	if len(steps) == 0 {
		return append(waits, p.wait()...)
	}
	return append(steps, waits...)
}

// held objects to everything but births and completions while another holder has the hold, or while it cannot be read.
func (p *poolState) held() plan.Refusal {
	switch {
	case p.Hold.Unreadable != "":
		return plan.Refusal{Code: reason.HoldUnreadable}
	case p.Hold.Holder.Foreign() && !p.Record().Lapsed(p.Now):
		return plan.Refusal{Code: reason.GroupHeld, Detail: "held from outside lockstep", Until: p.Hold.ExpiresAt()}
	}
	return plan.Refusal{}
}

// release gives back the hold once nothing that it records counts, and nothing more is to be recorded.
func (p *poolState) release(steps []plan.Action) []plan.Action {
	holder := p.Hold.Holder
	more := len(plan.Disruptions(steps)) > 0 || plan.Has[PrepareHandover](steps)
	if holder.Free() || holder.Foreign() || p.open > 0 || more {
		return nil
	}
	return []plan.Action{plan.Release{Holder: holder}}
}

// wait returns what the pool waits for: pods that are not available, or that have not ended.
func (p *poolState) wait() []plan.Action {
	for _, pods := range [][]Pod{p.staying, p.leaving} {
		for i := range pods {
			if because := p.unavailableBecause(&pods[i]); !because.None() {
				return p.waits(because)
			}
		}
	}
	if len(p.handovers) > 0 {
		return p.waits(plan.Refusal{Code: reason.HandoverUnderway, Pod: p.handovers[0].Intent.Pod})
	}
	for i := range p.Pods {
		if pod := &p.Pods[i]; p.owns(pod) && pod.Phase == plan.Terminating {
			return p.waits(plan.Refusal{Code: reason.PodTerminating, Pod: pod.Name})
		}
	}
	if p.open > 0 {
		return p.waits(plan.Refusal{Code: reason.PodDisruptionPending})
	}
	return nil
}

func (p *poolState) unavailableBecause(pod *Pod) plan.Refusal {
	switch {
	case pod.Phase == plan.Failing:
		return plan.Refusal{Code: reason.PodFailing, Pod: pod.Name, Detail: pod.Why}
	case pod.updating():
		return plan.Refusal{Code: reason.UpdateUnderway, Pod: pod.Name}
	case !pod.Up():
		return plan.Refusal{Code: reason.PodStarting, Pod: pod.Name}
	case !pod.Available(p.Object.MinReady, p.Now):
		return plan.Refusal{Code: reason.PodNotYetAvailable, Pod: pod.Name, Until: pod.StableAt(p.Object.MinReady)}
	}
	return plan.Refusal{}
}
