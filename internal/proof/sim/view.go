package sim

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

var (
	zoneNames   = [maxZones]string{"zone-a", "zone-b", "zone-c"}
	podNames    = namePods()
	numbers     = nameNumbers()
	groupKey    = plan.Key{Namespace: "world", Name: "g"}
	today       = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	maintenance = plan.Holder("manual/maintenance")
	ordinals    = regexp.MustCompile(`^(?:zone-[a-z]-([0-9]+))$`)
)

func namePods() (names [maxSlots]string) {
	for slot := range names {
		names[slot] = plan.PodName(zoneNames[zoneOf(slot)], ordinalOf(slot))
	}
	return names
}

func nameNumbers() (names [64]string) {
	for n := range names {
		names[n] = strconv.Itoa(n)
	}
	return names
}

// view is the complete input of a decision.
type view struct {
	pods  pods
	zones zones
	hold  lease
	own   bool
	live  bool
}

// podVersion returns a version of a pod as a number. Comparisons across pods, that is
// between the full view and an intent, have the same results as with one counter for all
// pods.
func (v *view) podVersion(slot int, version uint8) plan.Version {
	return offsetVersion(version, v.pods[slot].version)
}

// snapshot returns the view as the planner's input.
func (v *view) snapshot(c Config) group.Snapshot {
	s := group.Snapshot{Key: groupKey, Now: today, Live: v.live, ZonesAt: versionOffset, PodsAt: versionOffset, Hold: v.holdInput(c)}
	if c.Limit > 0 {
		s.Budgets = []group.DisruptionBudget{{Name: "budget", Limit: c.Limit}}
		if c.Partitions {
			s.Budgets[0].Partition, s.Budgets[0].Group = ordinals, 1
		}
	}
	for n := range c.Zones {
		if v.zones[n].absence == present {
			s.Zones = append(s.Zones, v.zoneInput(n, c))
		} else if v.hold.members[n] > 0 {
			s.FormerZones = append(s.FormerZones, v.leftZoneInput(n, c))
		}
	}
	return s
}

// leftZoneInput returns a zone that left the group, as the planner's input.
func (v *view) leftZoneInput(n int, c Config) group.FormerZone {
	z := v.zoneInput(n, c)
	if v.zones[n].absence == unlabelled {
		return group.FormerZone{Zone: z, Exists: true}
	}
	return group.FormerZone{Zone: group.Zone{Name: z.Name, UID: z.UID, Pods: z.Pods}, Orphaned: len(z.Pods) > 0}
}

// uidOf returns the UID of a zone's StatefulSet after it was recreated this many times.
func uidOf(zone int, recreations uint8) string {
	return zoneNames[zone] + strings.Repeat("'", int(recreations))
}

// zoneInput returns a zone as the planner's input.
func (v *view) zoneInput(n int, c Config) group.Zone {
	z := v.zones[n]
	out := group.Zone{
		Name: zoneNames[n], UID: uidOf(n, z.recreations), Version: plan.Version(z.version), Replicas: int(z.replicas),
		UpdateRevision: numbers[z.observedRevision], CurrentRevision: numbers[z.current], Observed: z.observed,
		OnDelete: !z.rolling, Paused: z.paused, MaxUnavailable: plan.Budget{Pods: c.Budget},
	}
	if z.forced > 0 {
		out.Forced = group.Force{Given: true, Replicas: int(z.forced) - 1}
	}
	for slot := n * maxPods; slot < (n+1)*maxPods; slot++ {
		if p := v.pods[slot]; p.exists() {
			out.Pods = append(out.Pods, plan.Pod{
				Name: podNames[slot], Ordinal: ordinalOf(slot), UID: numbers[p.uid], Version: v.podVersion(slot, p.version),
				Revision: numbers[p.revision], Phase: plan.Phase(p.phase),
			})
		}
	}
	return out
}

// holdInput returns the record of the Lease as the planner's input.
func (v *view) holdInput(c Config) group.Hold {
	h := group.Hold{Hold: plan.Hold{Exists: v.hold.version > 0, Own: v.own}}
	for n := range c.Zones {
		switch made := v.hold.members[n]; {
		case !c.hasAbsences():
			h.Members = append(h.Members, group.Member{Zone: zoneNames[n], UID: zoneNames[n]})
		case made > 0:
			h.Members = append(h.Members, group.Member{Zone: zoneNames[n], UID: uidOf(n, made-1)})
		}
	}
	if !h.Exists {
		return h
	}
	h.Duration, h.Renewed = hold.Duration, today
	if v.hold.expired {
		h.Renewed = today.Add(-hold.Duration - time.Minute)
	}
	h.Holder = v.hold.identity()
	h.Downscale = v.hold.recordedDownscale.asInput()
	for slot, i := range v.hold.intents {
		if i.uid > 0 {
			recorded := plan.Intent{
				Zone: zoneNames[zoneOf(slot)], Pod: podNames[slot], UID: numbers[i.uid], Version: v.podVersion(slot, i.version),
			}
			i.grant.complete(&recorded, c)
			recorded.Overtook = v.hold.overtook.has(slot)
			h.Intents = append(h.Intents, recorded)
		}
	}
	h.Waiting = v.hold.queue.asInput()
	return h
}

// complete adds the fields of a granted eviction to an intent.
func (g grant) complete(i *plan.Intent, c Config) {
	var age time.Duration
	switch g {
	case noGrant:
		return
	case freshGrant:
	case expiredGrant:
		age = plan.GrantLimit
	}
	i.Cause, i.Since, i.Known, i.Unbound = reason.EvictionGranted, today.Add(-age), age, c.Unbound
	if c.Partitions {
		i.Partition = numbers[ordinalOf(slotNumber(i.Pod))]
	}
}

func grantOf(i plan.Intent) grant {
	switch {
	case !i.Granted():
		return noGrant
	case i.Known >= plan.GrantLimit:
		return expiredGrant
	}
	return freshGrant
}

// asInput returns the queue as the planner's input. All operations in it have just been attempted.
func (q queue) asInput() []plan.Waiting {
	var all []plan.Waiting
	for n, w := range q {
		if w > 0 {
			all = append(all, plan.Waiting{
				Operation: operations[w.operation()], Zone: holderZone(w.holder()), Since: today.Add(time.Duration(n-maxQueue) * time.Second), LastSeen: today,
			})
		}
	}
	return all
}

func queueOf(all []plan.Waiting) (q queue) {
	for n, w := range all {
		q[n] = waiterOf(uint8(slices.Index(operations, w.Operation)), holderNumber(w.Zone))
	}
	return q
}

var operations = []plan.Operation{rollout: plan.RolloutOperation, downscale: plan.DownscaleOperation, eviction: plan.EvictionOperation}

// holderZone returns the zone in the name of a holder.
func holderZone(holder uint8) string {
	if holder == partitions {
		return plan.Partitions
	}
	return zoneNames[holder-1]
}

func holderNumber(zone string) uint8 {
	if zone == plan.Partitions {
		return partitions
	}
	return uint8(zoneNumber(zone)) + 1
}

// identity returns the holder as in the Lease.
func (l *lease) identity() plan.Holder {
	switch {
	case l.holder == free:
		return ""
	case l.holder == foreign:
		return maintenance
	}
	return operations[l.operation].For(holderZone(l.holder))
}

// asInput returns a downscale as the planner's input.
func (d recordedDownscale) asInput() group.Downscale {
	if d.zone == 0 {
		return group.Downscale{}
	}
	name := zoneNames[d.zone-1]
	out := group.Downscale{
		Zone: name, UID: name, Version: plan.Version(d.zoneVersion), From: int(d.from), To: int(d.to), Stage: group.Admitted, Ours: d.byLockstep, Since: today,
	}
	if d.overdue {
		out.Since = today.Add(-group.UpdateLimit)
	}
	return out
}

// leaseOf converts a record of the planner to a lease.
func (v *view) leaseOf(h group.Hold) lease {
	l := lease{version: v.hold.version}
	switch {
	case h.Holder == maintenance:
		l.holder = foreign
	case !h.Holder.Free():
		l.holder = holderNumber(h.Holder.Zone())
		l.operation = uint8(slices.Index(operations, h.Holder.Operation()))
	}
	if d := h.Downscale; !d.None() {
		l.recordedDownscale = recordedDownscale{
			zone: uint8(zoneNumber(d.Zone)) + 1, zoneVersion: uint8(d.Version), from: uint8(d.From), to: uint8(d.To), overdue: d.Since.Before(today), byLockstep: d.Ours,
		}
	}
	for _, i := range h.Intents {
		slot := slotNumber(i.Pod)
		l.intents[slot] = intent{uid: parseNumber(i.UID), version: originalVersion(i.Version), grant: grantOf(i)}
		if i.Overtook {
			l.overtook = l.overtook.with(slot)
		}
	}
	for _, m := range h.Members {
		n := zoneNumber(strings.TrimRight(m.UID, "'"))
		l.members[n] = uint8(len(m.UID)-len(zoneNames[n])) + 1
	}
	l.queue = queueOf(h.Waiting)
	return l
}

// originalVersion is the inverse of offsetVersion.
func originalVersion(version plan.Version) uint8 { return uint8(version % versionOffset) }

func parseNumber(name string) uint8 {
	n, err := strconv.ParseUint(name, 10, 6)
	if err != nil {
		panic("explore: the planner returns the unknown number " + name)
	}
	return uint8(n)
}

func zoneNumber(name string) int {
	for n, known := range zoneNames {
		if known == name {
			return n
		}
	}
	panic("explore: the planner returns the unknown zone " + name)
}

func slotNumber(name string) int {
	for n, known := range podNames {
		if known == name {
			return n
		}
	}
	panic("explore: the planner returns the unknown pod " + name)
}
