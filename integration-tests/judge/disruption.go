package judge

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// podDisruption is a disruption that is being verified.
type podDisruption struct {
	pod    *Pod
	states []zoneState // the states of its zone that the operator may know
	knowledge
	kind disruptionKind
}

func (d podDisruption) zone() *Zone { return last(d.states).Zone }

func (d podDisruption) slot() podSlot {
	_, ordinal, _ := ordinalOf(d.pod.Name)
	return podSlot{d.zone().Name, ordinal}
}

// verifyDeletion verifies one deletion by an operator: its request in the audit log and its event.
func (v *verifier) verifyDeletion(e Event, request Request, group string) {
	k := v.knowledgeAt(group, request.At, request.Agent, isRequest("delete", "pods", e.Pod.Name), isLeaseWrite, isPodPatch, isLiveRead)
	d := podDisruption{pod: e.Pod, states: v.possibleStates(v.statesOf(e.Pod.Owner), k), knowledge: k, kind: deleted}
	wasServing := v.wasServing(e.Pod)
	v.record(e, d, wasServing)
	if len(d.states) == 0 {
		v.report(5, nil, "%s was deleted, which belongs to no zone", e.Pod.Name)
		return
	}
	v.verifyPod(d)
	v.verifyUpdateStrategies(d)
	if wasServing {
		v.verifyOtherZones(d)
		v.verifyNoPartitionEviction(d.zone(), d.knowledge, fmt.Sprintf("%s was %s", d.pod.Name, d.kind))
		v.verifyNoDownscale(d)
		limit := v.rolloutLimit(d)
		v.verifyBudget(d, limit, max(limit, v.evictionLimit(d)))
		v.verifyHold(d, request)
	}
}

// knowledgeAt returns what an operator must know when it disrupts a pod of a group at a time, after
// requests that the matchers describe.
func (v *verifier) knowledgeAt(group string, now time.Time, agent string, matchers ...delayMatcher) knowledge {
	k := knowledge{now: now, agent: agent, group: group, decidedAt: v.decidedAt(now, agent, group, matchers...)}
	k.liveReadAt = v.liveReadAt(group, k)
	return k
}

func (v *verifier) wasServing(p *Pod) bool {
	before := v.pods[p.Name]
	return before != nil && before.UID == p.UID && before.Serving()
}

func (v *verifier) record(e Event, d podDisruption, wasServing bool) {
	record := Disruption{
		At: d.now, Version: e.Version, Namespace: v.namespace, Pod: d.pod.Name, UID: d.pod.UID,
		WasServing: wasServing, Evicted: d.kind == evicted, Grace: v.grace(d.knowledge),
	}
	if len(d.states) > 0 {
		record.Group, record.Zone, record.Budget = d.zone().Group, d.zone().Name, largestMaxUnavailable(d.states)
	}
	v.disruptions = append(v.disruptions, record)
}

// verifyPod verifies that a rollout may delete the pod.
func (v *verifier) verifyPod(d podDisruption) {
	p, ordinal := d.pod, d.slot().ordinal
	for _, claim := range []struct {
		guarantee int
		what      string
		fits      func(zoneState) bool
	}{
		{5, "was left by a deleted StatefulSet", func(z zoneState) bool { return !z.Deleted }},
		{5, "belongs to no group", func(z zoneState) bool { return z.Deleted || z.isIn(d.group) }},
		{5, "was not outdated", func(z zoneState) bool { return z.Revision != "" && z.Revision != p.Revision }},
		{5, "is beyond spec.replicas", func(z zoneState) bool { return z.includes(ordinal) }},
		{3, "belongs to a paused zone", func(z zoneState) bool { return !z.pausedAt(d.now) }},
	} {
		if !slices.ContainsFunc(d.states, claim.fits) {
			v.report(claim.guarantee, d.zone(), "%s was deleted, which %s", p.Name, claim.what)
		}
	}
}

// verifyUpdateStrategies verifies that all zones of the group are OnDelete.
func (v *verifier) verifyUpdateStrategies(d podDisruption) {
	v.forEachMember(d.group, d.knowledge, func(_ string, states []zoneState) {
		onDelete := func(s zoneState) bool { return s.OnDelete || !s.isIn(d.group) }
		if v.mustKnowFirst(states, d.knowledge) && !slices.ContainsFunc(states, onDelete) {
			v.report(3, d.zone(), "%s was deleted while zone %s is not OnDelete", d.pod.Name, last(states).Name)
		}
	})
}

// verifyOtherZones verifies that the other zones of the group are available.
func (v *verifier) verifyOtherZones(d podDisruption) {
	z := d.zone()
	v.forEachOther(d.group, z.Name, d.knowledge, func(_ string, states []zoneState) {
		for what, guarantee := range v.missingIn(states, d.knowledge) {
			v.report(guarantee, z, "%s of zone %s was %s while %s", d.pod.Name, z.Name, d.kind, what)
		}
	})
}

// missingIn yields what makes a zone unavailable, with the guarantee that it concerns.
func (v *verifier) missingIn(states []zoneState, k knowledge) iter.Seq2[string, int] {
	return func(yield func(what string, guarantee int) bool) {
		z := last(states)
		for pod, guarantee := range v.podsDownIn(z.Zone, k) {
			if !yield(fmt.Sprintf("%s of zone %s was down", pod, z.Name), guarantee) {
				return
			}
		}
		if !slices.ContainsFunc(states, func(s zoneState) bool { return !s.Deleted }) {
			yield(fmt.Sprintf("zone %s had no StatefulSet", z.Name), 2)
		}
	}
}

// podsDownIn yields the pods of a zone that are down, with the guarantee that they concern.
func (v *verifier) podsDownIn(z *Zone, k knowledge) iter.Seq2[string, int] {
	return func(yield func(pod string, guarantee int) bool) {
		for n := range z.Replicas {
			slot := podSlot{z.Name, z.Start + n}
			out, down := v.outages[slot]
			if !down || !v.mustKnowOutage(slot, out, k) {
				continue
			}
			guarantee := 2
			if out.kind != noDisruption && out.availableAt.IsZero() {
				guarantee = 1
			}
			if !yield(podName(z.Name, z.Start+n), guarantee) {
				return
			}
		}
	}
}

// verifyBudget verifies that the disruption leaves at most allowed pods of the zone down. Evictions
// that joined a rollout after its intent for this pod are not counted for allowed, but for together. A
// pod that is ready but not available yet counts as down.
func (v *verifier) verifyBudget(d podDisruption, allowed, together int) {
	downAfter, joined, own := 1, 0, v.intentVersions[d.pod.UID]
	for slot, out := range v.outages {
		switch {
		case slot.zone != d.zone().Name || slot == d.slot() || !v.mustKnowOutage(slot, out, d.knowledge):
		case d.kind == deleted && out.kind == evicted && own > 0 && out.intentVersion > own:
			joined++
		default:
			downAfter++
		}
	}
	if downAfter+joined > together {
		downAfter, allowed = downAfter+joined, together
	}
	if downAfter > allowed {
		v.report(4, d.zone(), "%s was %s, so %d pods of its zone were down, %d allowed", d.pod.Name, d.kind, downAfter, allowed)
	}
}

// rolloutLimit returns how many pods of a zone may be down for a rollout.
func (v *verifier) rolloutLimit(d podDisruption) int {
	limit := largestMaxUnavailable(d.states)
	if b, found := v.budget(d.group); found && b.Limit > 0 && b.Partition == nil {
		return min(limit, b.Limit)
	}
	return limit
}

// evictionLimit returns how many pods of a zone may be down for evictions, and 0 if the budget counts
// by partitions.
func (v *verifier) evictionLimit(d podDisruption) int {
	b, found := v.budget(d.group)
	switch {
	case !found:
		return largestMaxUnavailable(d.states)
	case b.Partition != nil:
		return 0
	}
	return b.Limit
}

// verifyHold verifies that the Lease of the group had an intent for the deletion. The preconditions of
// an unanswered request are unknown.
func (v *verifier) verifyHold(d podDisruption, request Request) {
	zone := d.zone().Name
	intent, objection := v.intentFor(d.pod, d.group, "rollout/"+zone, "downscale/"+zone) // an eviction that joined
	if objection == "" && request.answered() && intent.Version != request.RequiredVersion {
		objection = fmt.Sprintf("at version %d, intended in the Lease of its group at version %d", request.RequiredVersion, intent.Version)
	}
	v.reportHold(d, objection)
}

// reportHold reports a problem with the Lease of a group, if there is one.
func (v *verifier) reportHold(d podDisruption, objection string) {
	if objection != "" {
		v.report(1, d.zone(), "%s was %s %s", d.pod.Name, d.kind, objection)
	}
}

// intentFor returns the intent for a pod in the Lease of a group, or a description of the error
// in the Lease. Only the given holders may disrupt the pod.
func (v *verifier) intentFor(p *Pod, group string, holders ...string) (PodIntent, string) {
	h := v.holds[group]
	switch {
	case h == nil || h.Deleted:
		return PodIntent{}, "without a Lease of its group"
	case !slices.Contains(holders, h.Holder):
		return PodIntent{}, fmt.Sprintf("while %q had the Lease of its group", h.Holder)
	}
	i := slices.IndexFunc(h.Intents, func(n PodIntent) bool { return n.UID == p.UID })
	if i < 0 {
		return PodIntent{}, "without an intent in the Lease of its group"
	}
	return h.Intents[i], ""
}

func largestMaxUnavailable(states []zoneState) int {
	budget := 0
	for _, s := range states {
		budget = max(budget, s.MaxUnavailable)
	}
	return budget
}
