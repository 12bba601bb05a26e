package judge

import (
	"slices"
	"time"
)

// verifyEviction verifies a successful eviction by any client, and reports whether the guarantees
// apply to it. The operator that recorded the intent, or a later one that continued with it, decided
// the eviction shortly before the pod terminated. A pod that a downscale terminates already is
// skipped. An orphaned pod counts for its former StatefulSet.
func (v *verifier) verifyEviction(e Event, request Request, group string) bool {
	k := v.knowledgeAt(group, v.allowedAt(e, request), v.agentsSince(group, v.intentVersions[e.Pod.UID]), isLeaseWrite, isLiveRead)
	k.now = e.At
	d := podDisruption{pod: e.Pod, states: v.possibleStates(v.zones[v.setName(e.Pod)], k), knowledge: k, kind: evicted}
	isOutside := func(s zoneState) bool { return !s.countsFor(group) }
	if len(d.states) == 0 || slices.ContainsFunc(d.states, isOutside) || v.terminatesByDownscale(e.Pod) {
		return false
	}
	wasServing := v.wasServing(e.Pod)
	v.record(e, d, wasServing)
	if !wasServing {
		return true
	}
	b, found := v.budget(group)
	if !found {
		b.Limit = largestMaxUnavailable(d.states)
	}
	if b.Partition != nil {
		v.verifyPartition(d, b)
		v.verifyNoRollout(d)
	} else {
		v.verifyOtherZones(d)
		v.verifyBudget(d, b.Limit, b.Limit)
	}
	v.verifyNoDownscale(d)
	v.verifyHoldOfEviction(d, b)
	if v.PinnedEvictions && request.answered() && request.RequiredUID != e.Pod.UID {
		v.report(5, d.zone(), "%s was evicted by a request that does not require its UID", e.Pod.Name)
	}
	return true
}

// allowedAt returns the earliest time at which the eviction can have been decided: when the write of the
// intent arrived, if that was after the request arrived, or else when the pod terminated.
func (v *verifier) allowedAt(e Event, request Request) time.Time {
	recorded := v.writes[v.intentVersions[e.Pod.UID]]
	if v.Strict || recorded.Ended.IsZero() || recorded.Ended.Before(request.At) || e.At.Before(recorded.Ended) {
		return e.At
	}
	return recorded.At
}

// verifyPartition verifies that fewer pods of the partition are down in other zones than the budget
// allows.
func (v *verifier) verifyPartition(d podDisruption, b Budget) {
	z, down := d.zone(), 0
	partition := b.partitionOf(d.pod.Name)
	if partition == "" {
		v.report(4, z, "%s was evicted, which is in no partition", d.pod.Name)
		return
	}
	v.forEachOther(d.group, z.Name, d.knowledge, func(_ string, states []zoneState) {
		for pod := range v.podsDownIn(last(states).Zone, d.knowledge) {
			if b.partitionOf(pod) == partition {
				down++
			}
		}
	})
	if down >= b.Limit {
		v.report(4, z, "%s was evicted while %d pods of partition %s were down in other zones, fewer than %d wanted", d.pod.Name, down, partition, b.Limit)
	}
}

// verifyNoRollout verifies that no pod of the group is down because of a rollout of this group: a zone may
// have been rolled in another group before it came back. It applies to evictions by partitions.
func (v *verifier) verifyNoRollout(d podDisruption) {
	v.forEachMember(d.group, d.knowledge, func(name string, _ []zoneState) {
		for at, out := range v.outages {
			if at.zone == name && out.kind == deleted && out.group == d.group && v.mustKnowOutage(at, out, d.knowledge) {
				v.report(1, d.zone(), "%s was evicted while %s was down by a rollout", d.pod.Name, podName(name, at.ordinal))
			}
		}
	})
}

// verifyNoPartitionEviction verifies that no pod of the zone is down because of an eviction by
// partitions that this group allowed: if the zone has moved, the Lease of another group has the intent.
// Pods of other zones are verified elsewhere.
func (v *verifier) verifyNoPartitionEviction(z *Zone, k knowledge, disruption string) {
	if b, found := v.budget(k.group); !found || b.Partition == nil {
		return
	}
	for at, out := range v.outages {
		if at.zone == z.Name && out.kind == evicted && out.group == k.group && v.mustKnowOutage(at, out, k) {
			v.report(1, z, "%s while %s was down by an eviction by partitions", disruption, podName(z.Name, at.ordinal))
		}
	}
}

func (v *verifier) verifyHoldOfEviction(d podDisruption, b Budget) {
	zone := d.zone().Name
	holders := []string{"rollout/" + zone, "downscale/" + zone, "eviction/" + zone}
	if b.Partition != nil {
		holders = []string{"eviction/partitions"}
	}
	_, objection := v.intentFor(d.pod, d.group, holders...)
	v.reportHold(d, objection)
}
