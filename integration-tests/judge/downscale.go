package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// downscale is a reduction of spec.replicas.
type downscale struct {
	at          time.Time
	group       string          // of the zone at that time; empty: none
	groups      []string        // for which the zone counted at that time
	terminating map[string]bool // UIDs of the pods that were ready at that time and still exist
}

// verifyDownscale verifies a reduction of spec.replicas, if the downscale webhook is in use.
func (v *verifier) verifyDownscale(e Event) {
	z, before := e.Zone, v.previousState(e.Zone.UID)
	v.cancelDownscale(z)
	if before == nil || z.Deleted || z.Replicas >= before.Replicas {
		return
	}
	terminating := map[string]bool{}
	for n := z.Replicas; n < before.Replicas; n++ {
		if p := v.pods[podName(z.Name, z.Start+n)]; p.Serving() && p.Owner == z.UID {
			terminating[p.UID] = true
		}
	}
	if v.DownscaleWebhook && z.Grouped {
		k := v.knowledgeAt(z.Group, e.At, v.downscaleAgents(e), isRequest("patch", "statefulsets", z.Name), isLeaseWrite, isLeaseWrite, isPodPatch, isLiveRead)
		if len(terminating) > 0 {
			v.verifyOtherZonesOfDownscale(z, k)
			v.verifyNoPartitionEviction(z, k, fmt.Sprintf("%s was scaled down to %d", z.Name, z.Replicas))
			v.verifyHoldOfDownscale(z)
		}
		v.verifyTimeBetweenDownscales(z, k)
	}
	if earlier := v.downscales[z.Name]; earlier != nil {
		maps.Copy(terminating, earlier.terminating)
	}
	v.downscales[z.Name] = &downscale{at: e.At, group: z.Group, groups: last(v.zones[z.Name]).groups(), terminating: terminating}
}

// downscaleAgents returns the operator that scaled the zone down. If a user did, it returns the
// operators that wrote the Lease since the intent was recorded: one write records the intent and a
// second one may confirm it.
func (v *verifier) downscaleAgents(e Event) string {
	if r, ours := v.writes[e.Version]; ours {
		return r.Agent
	}
	return v.agentsSince(e.Zone.Group, v.downscaleVersions[e.Zone.Group])
}

// agentsSince returns the user agents that wrote the Lease of a group since a version, or an empty
// string if one of them is unknown.
func (v *verifier) agentsSince(group string, version uint64) string {
	all := ""
	for _, w := range v.leaseVersions[group] {
		switch {
		case w.version < version:
		case w.agent == "":
			return ""
		case !strings.Contains(all, w.agent):
			all += w.agent + " "
		}
	}
	return all
}

func (v *verifier) verifyOtherZonesOfDownscale(z *Zone, k knowledge) {
	v.forEachOther(z.Group, z.Name, k, func(name string, states []zoneState) {
		if v.isScalingDown(name) {
			v.report(1, z, "%s was scaled down to %d while pods of zone %s were terminating by a downscale", z.Name, z.Replicas, name)
		}
		for what, guarantee := range v.missingIn(states, k) {
			v.report(guarantee, z, "%s was scaled down to %d while %s", z.Name, z.Replicas, what)
		}
	})
}

func (v *verifier) verifyHoldOfDownscale(z *Zone) {
	h := v.holds[z.Group]
	switch {
	case h == nil || h.Deleted:
		v.report(1, z, "%s was scaled down to %d without a Lease of its group", z.Name, z.Replicas)
	case h.Holder != "downscale/"+z.Name:
		v.report(1, z, "%s was scaled down to %d while %q had the Lease of its group", z.Name, z.Replicas, h.Holder)
	case h.Downscale.Zone != z.Name:
		v.report(1, z, "%s was scaled down to %d without an intent in the Lease of its group", z.Name, z.Replicas)
	case h.Downscale != DownscaleIntent{Zone: z.Name, UID: z.UID, Version: last(v.zones[z.Name]).version, To: z.Replicas}:
		v.report(1, z, "%s was scaled down to %d from version %d, the intent in the Lease of its group is %+v", z.Name, z.Replicas, last(v.zones[z.Name]).version, h.Downscale)
	}
}

// verifyTimeBetweenDownscales verifies the minimum time since the last downscale of another zone, which
// counted for the group at that time. Operators read that time live from the Lease, so stale caches are
// no excuse. Only the delay of the judge's own watches is tolerated. If the zone was in another group by
// then, the time is in the Lease of that one: it counts once the annotation of the StatefulSet has it.
func (v *verifier) verifyTimeBetweenDownscales(z *Zone, k knowledge) {
	v.forEachOther(z.Group, z.Name, k, func(name string, states []zoneState) {
		earlier := v.downscales[name]
		if earlier == nil || !slices.Contains(earlier.groups, z.Group) || earlier.isElsewhere(z.Group) && !showDownscale(states, earlier) {
			return
		}
		if minimum := max(z.MinBetweenDownscales, last(states).MinBetweenDownscales); k.now.Sub(earlier.at) < minimum-observerDelay {
			v.report(6, z, "%s was scaled down %s after %s, at least %s wanted", z.Name, k.now.Sub(earlier.at).Round(time.Millisecond), name, minimum)
		}
	})
}

// isElsewhere reports whether a zone was in another group than this one when it was scaled down.
func (d *downscale) isElsewhere(group string) bool { return d.group != "" && d.group != group }

// showDownscale reports whether the annotations of a StatefulSet have the time of a downscale in all of these states. The
// time is that of the request, in whole seconds, by the clock of the operator that admitted it.
func showDownscale(states []zoneState, d *downscale) bool {
	return !slices.ContainsFunc(states, func(s zoneState) bool { return s.LastDownscale.Before(d.at.Add(-downscaleAdmission)) })
}

// downscaleAdmission is more than the time from the admission of a downscale until it is stored.
const downscaleAdmission = time.Minute

// terminatesByDownscale reports whether a downscale already terminates a pod that still exists.
func (v *verifier) terminatesByDownscale(p *Pod) bool {
	s := v.downscales[v.setName(p)]
	return s != nil && s.terminating[p.UID]
}

// isScalingDown reports whether pods that a downscale terminated still exist.
func (v *verifier) isScalingDown(zone string) bool {
	s := v.downscales[zone]
	return s != nil && len(s.terminating) > 0
}

// cancelDownscale drops the pods of a downscale that spec.replicas includes again and that are not
// terminating yet.
func (v *verifier) cancelDownscale(z *Zone) {
	s := v.downscales[z.Name]
	if s == nil {
		return
	}
	for _, name := range z.Pods() {
		if p := v.pods[name]; p.Serving() {
			delete(s.terminating, p.UID)
		}
	}
}

// forgetTerminated drops a deleted pod from all downscales.
func (v *verifier) forgetTerminated(p *Pod) {
	for _, s := range v.downscales {
		if p.Deleted {
			delete(s.terminating, p.UID)
		}
	}
}

// verifyNoDownscale verifies that no other zone of the group is scaling down when a ready pod is
// disrupted. For an eviction by partitions, the pod's own zone counts too.
func (v *verifier) verifyNoDownscale(d podDisruption) {
	if !v.DownscaleWebhook {
		return
	}
	z := d.zone()
	b, _ := v.budget(d.group)
	byPartitions := d.kind == evicted && b.Partition != nil
	v.forEachMember(d.group, d.knowledge, func(name string, _ []zoneState) {
		if (name != z.Name || byPartitions) && v.isScalingDown(name) {
			v.report(1, z, "%s of zone %s was %s while pods of zone %s were terminating by a downscale", d.pod.Name, z.Name, d.kind, name)
		}
	})
}
