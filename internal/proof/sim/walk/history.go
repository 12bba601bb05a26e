package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/sim/judge"
)

// groupHistory is the part of the history of a group that the rules need. It uses only the objects that
// the API server stores, and the versions that the API server has shown to each process. It never uses
// the memory of a process.
type groupHistory struct {
	downtimes      [][]downtime    // by zone and ordinal
	disrupted      []bool          // by zone: a downscale by or through lockstep is deleting pods that were up
	lastDownscales []pastDownscale // by zone: the last downscale
	returned       []plan.Version  // by zone: when it last returned to the group
	unremembered   []plan.Version  // by zone: when it last returned without being remembered
	pauses         []pause         // by zone
	left           []plan.Version  // by zone: when it left the group; zero: it is in the group
	trueClocks     bool            // of all processes
}

// downtime describes the time during which a wanted pod has been down, and the pod that is up.
type downtime struct {
	since       plan.Version    // zero: the pod is up, or not wanted
	newlyWanted bool            // the downtime began when the ordinal became wanted
	lastUp      plan.Version    // when the last pod that was up went down, or was no longer in its zone
	byLockstep  bool            // lockstep disrupted the pod, and no other pod of that name has become Ready
	readySince  plan.Version    // when the pod that is up became Ready
	readyUID    string          // the UID of that pod; empty: the pod is not up
	availableAt time.Time       // when that pod will have been Ready for minReadySeconds; until then it counts as down
	earlier     earlierDowntime // the previous downtime, if the pod went down again by itself before availableAt

	evicted     bool         // the pod that was last deleted was evicted
	recordedAt  plan.Version // the version of the first Lease that records the pod
	recordedUID string       // the UID of the pod, while the Lease records it
}

// earlierDowntime is a downtime that has ended for an observer that has not seen that the pod went down
// again.
type earlierDowntime struct {
	since       plan.Version
	newlyWanted bool
	lastUp      plan.Version
	byLockstep  bool
	availableAt time.Time
}

// pastDownscale is a completed downscale of a zone.
type pastDownscale struct {
	at         time.Time
	minBetween time.Duration // the minimum time between downscales that the zone required
}

func newGroupHistory(zones, ordinals int, trueClocks bool) groupHistory {
	h := groupHistory{trueClocks: trueClocks, disrupted: make([]bool, zones), lastDownscales: make([]pastDownscale, zones), returned: make([]plan.Version, zones), unremembered: make([]plan.Version, zones), pauses: make([]pause, zones), left: make([]plan.Version, zones)}
	for range zones {
		h.downtimes = append(h.downtimes, make([]downtime, ordinals))
	}
	return h
}

// update updates the history after a write, to the objects that are stored since a version.
func (h *groupHistory) update(g *simulatedGroup, version plan.Version, zoneChanged bool, now time.Time) {
	h.endDowntimes(now)
	for n := range g.zones {
		for ordinal := range h.downtimes[n] {
			dt, p := &h.downtimes[n][ordinal], g.pods[n][ordinal]
			up, wasReady := p.upInZone(), dt.readyUID != ""
			switch {
			case up && dt.readyUID != p.UID:
				dt.readySince, dt.readyUID, dt.availableAt = version, p.UID, h.availableAt(p, g.zones[n].MinReady)
			case !up && wasReady:
				dt.readyUID, dt.lastUp = "", version
			}
			switch {
			case !g.wanted(n, ordinal), up && !now.Before(dt.availableAt):
				dt.since, dt.byLockstep, dt.earlier = 0, false, earlierDowntime{}
			case up:
			case wasReady && dt.since > 0:
				dt.earlier = earlierDowntime{dt.since, dt.newlyWanted, dt.lastUp, dt.byLockstep, dt.availableAt}
				dt.since, dt.newlyWanted, dt.byLockstep = version, zoneChanged, false
			case dt.since == 0:
				dt.since, dt.newlyWanted = version, zoneChanged
			}
		}
		h.disrupted[n] = h.disrupted[n] && g.hasSurplus(n)
		if until := g.zones[n].PausedUntil.Time; !g.zones[n].Paused || until != h.pauses[n].until {
			h.pauses[n] = pause{until: until}
		}
		h.pauses[n].since = since(h.pauses[n].since, g.zones[n].Paused, version)
		h.left[n] = since(h.left[n], g.zones[n].absence != inGroup, version)
	}
}

// pause is the current pause of a zone.
type pause struct {
	since plan.Version // zero: the zone is not paused
	until time.Time    // zero: until a user ends it
}

// since returns the version since which a condition has been true; zero if it is false.
func since(former plan.Version, is bool, version plan.Version) plan.Version {
	switch {
	case !is:
		return 0
	case former == 0:
		return version
	}
	return former
}

// pausedOrAbsent reports whether a zone was already paused, or not in the group, when the round of a
// rollout began. A pause with an end does not count if a clock can show that its end has passed.
func (h *groupHistory) pausedOrAbsent(n int, startVersion plan.Version, now time.Time) bool {
	p := h.pauses[n]
	ended := !p.until.IsZero() && (!h.trueClocks || !now.Before(p.until))
	return p.since > 0 && p.since <= startVersion && !ended || h.left[n] > 0 && h.left[n] <= startVersion
}

// zoneReturns updates the history when a zone returns to the group.
func (h *groupHistory) zoneReturns(g *simulatedGroup, n int, version plan.Version) {
	h.returned[n] = version
	if !g.remembers(n) {
		h.unremembered[n] = version
	}
}

// unknowable reports whether a process could not know of a downtime, because the zone is neither in the
// group nor remembered, or because it was neither until it returned, which the process had not been shown
// when it decided. A zone that returns just when a live read has shown it available outside of the group
// is forgotten by the plan that was made from this read.
func (h *groupHistory) unknowable(g *simulatedGroup, zone int, dt downtime, shown shownVersions) bool {
	if dt.byLockstep || dt.earlier.byLockstep {
		return false
	}
	seen, remembered := shown.zone(zone), g.remembers(zone)
	switch {
	case g.zones[zone].absence != inGroup:
		return !remembered || h.unremembered[zone] > seen
	case !remembered:
		return h.returned[zone] > seen
	}
	return h.unremembered[zone] > seen
}

// endDowntimes ends the downtimes of pods that have been Ready for minReadySeconds.
func (h *groupHistory) endDowntimes(now time.Time) {
	for n := range h.downtimes {
		for ordinal := range h.downtimes[n] {
			if dt := &h.downtimes[n][ordinal]; dt.since > 0 && dt.readyUID != "" && !now.Before(dt.availableAt) {
				dt.since, dt.byLockstep, dt.earlier = 0, false, earlierDowntime{}
			}
		}
	}
}

// updateRecorded updates the history of recorded pods after a write of the Lease.
func (h *groupHistory) updateRecorded(g *simulatedGroup, lease *group.Hold) {
	for n, z := range g.zones {
		for ordinal := range h.downtimes[n] {
			dt, uid, name := &h.downtimes[n][ordinal], "", plan.PodName(z.Name, ordinal)
			if i := slices.IndexFunc(lease.Intents, func(i plan.Intent) bool { return i.Pod == name }); i >= 0 {
				uid = lease.Intents[i].UID
			}
			if uid != "" && uid != dt.recordedUID {
				dt.recordedAt = lease.Version
			}
			dt.recordedUID = uid
		}
	}
}

// availableAt returns when a pod becomes available; the zero time if clocks are wrong.
func (h *groupHistory) availableAt(p *pod, minReady time.Duration) time.Time {
	if !h.trueClocks || minReady == 0 {
		return time.Time{}
	}
	return p.StableAt(minReady)
}

// disruption is a request for a delete.
type disruption struct {
	actor        string
	uid          string
	version      plan.Version  // zero: any
	startVersion plan.Version  // of the API server, before the process read anything for the decision
	shown        shownVersions // to the process, before the decision
	evicted      bool
}

// checkDisruption checks the delete of a pod that was up. It returns the rule that the delete breaks and
// how, or nothing.
func (h *groupHistory) checkDisruption(g *simulatedGroup, n, ordinal int, d disruption, version plan.Version, exact bool, now time.Time) (rule, detail string) {
	otherZonesDown, zoneDown, recordedLater, otherZoneDisrupted := 0, 0, 0, false
	own := &h.downtimes[n][ordinal]
	own.evicted = d.evicted
	for zone := range g.zones {
		for o, dt := range h.downtimes[zone] {
			if dt.since == 0 {
				continue
			}
			otherZoneDisrupted = otherZoneDisrupted || (zone != n && dt.disruptedByLockstep(now))
			counts := !(dt.excused(d.shown, zone, now) || h.unknowable(g, zone, dt, d.shown)) || (zone == n && o == ordinal)
			switch {
			case counts && zone == n && dt.evicted && dt.recordedAt > own.recordedAt:
				recordedLater++
			case counts && zone == n:
				zoneDown++
			case counts:
				otherZonesDown++
			}
		}
		otherZoneDisrupted = otherZoneDisrupted || (zone != n && h.disrupted[zone])
	}
	budget := g.rolloutBudget(n)
	if d.evicted {
		budget, zoneDown, recordedLater = g.evictionBudget(n), zoneDown+recordedLater, 0
	}
	if zoneDown+recordedLater > max(budget, g.evictionBudget(n)) {
		zoneDown += recordedLater // the budget of evictions covers the pods that were recorded later, together with the others
	}
	rule = judge.Disruption{
		WrongTarget: !exact, Paused: !d.evicted && h.pausedOrAbsent(n, d.startVersion, now),
		OtherZoneDisrupted: otherZoneDisrupted, OtherZonesDown: otherZonesDown, Down: zoneDown, Budget: budget, Unrecorded: !g.recordsDisruption(n, ordinal, d, version),
	}.BrokenRule(judge.AllRules)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s deletes %s; down: %s", d.actor, plan.PodName(g.zones[n].Name, ordinal), h.describeDown(g))
}

// excused reports whether a pod is down by itself and the API server had not shown this to the process.
func (dt downtime) excused(shown shownVersions, zone int, now time.Time) bool {
	if e := dt.earlier; e.since > 0 && now.Before(e.availableAt) && !notShown(e.since, e.lastUp, e.newlyWanted, e.byLockstep, shown, zone) {
		return false
	}
	return notShown(dt.since, dt.lastUp, dt.newlyWanted, dt.byLockstep, shown, zone)
}

// notShown reports whether the beginning of a downtime is later than the versions that were shown. If the ordinal was not
// wanted for a while, an older view may still show the pod that it had before.
func notShown(since, lastUp plan.Version, newlyWanted, byLockstep bool, shown shownVersions, zone int) bool {
	if newlyWanted {
		return !byLockstep && (since > shown.zone(zone) || lastUp > shown.pods[zone])
	}
	return !byLockstep && since > shown.pods[zone]
}

// disruptedByLockstep reports whether lockstep disrupted the pod that is down.
func (dt downtime) disruptedByLockstep(now time.Time) bool {
	return dt.byLockstep || dt.earlier.byLockstep && now.Before(dt.earlier.availableAt)
}

// recordsDisruption reports whether the Lease records exactly this delete.
func (g *simulatedGroup) recordsDisruption(n, ordinal int, d disruption, version plan.Version) bool {
	if g.lease == nil || g.lease.Holder.Zone() != g.zones[n].Name {
		return false
	}
	name := plan.PodName(g.zones[n].Name, ordinal)
	for _, i := range g.lease.Intents {
		if i.Pod == name && i.UID == d.uid && (i.Version == version || (d.evicted && i.Granted())) {
			return true
		}
	}
	return false
}

func (g *simulatedGroup) rolloutBudget(n int) int {
	budget := g.zones[n].MaxUnavailable.Pods
	if len(g.budgets) > 0 && g.budgets[0].Limit > 0 {
		budget = min(budget, g.budgets[0].Limit)
	}
	return budget
}

func (g *simulatedGroup) evictionBudget(n int) int {
	if len(g.budgets) > 0 {
		return g.budgets[0].Limit
	}
	return g.zones[n].MaxUnavailable.Pods
}

// downscale is a request for a change of spec.replicas.
type downscale struct {
	actor   string
	version plan.Version
	to      int
	shown   shownVersions
}

// disrupts reports whether a downscale deletes a pod that is up and was up according to the decision. A
// pod that became Ready later counts as down, because the process could not know that it is up. A pod with
// the labels of another zone is released before the downscale deletes pods.
func (h *groupHistory) disrupts(g *simulatedGroup, n int, d downscale) bool {
	for ordinal := d.to; ordinal < g.zones[n].Replicas; ordinal++ {
		p := g.pods[n][ordinal]
		if p.upInZone() && p.mislabelled == nil && h.downtimes[n][ordinal].readySince <= d.shown.pods[n] {
			return true
		}
	}
	return false
}

// checkDownscale checks a downscale that is about to delete pods that are up. It returns the rule that
// the downscale breaks and how, or nothing.
func (h *groupHistory) checkDownscale(g *simulatedGroup, n int, d downscale, now time.Time) (rule, detail string) {
	otherZonesDown, otherZoneDisrupted := 0, false
	for zone := range g.zones {
		if zone == n {
			continue
		}
		for _, dt := range h.downtimes[zone] {
			if dt.since > 0 {
				otherZoneDisrupted = otherZoneDisrupted || dt.disruptedByLockstep(now)
				if !dt.excused(d.shown, zone, now) && !h.unknowable(g, zone, dt, d.shown) {
					otherZonesDown++
				}
			}
		}
		otherZoneDisrupted = otherZoneDisrupted || h.disrupted[zone]
	}
	name := g.zones[n].Name
	recorded := g.lease != nil && g.lease.Holder.Zone() == name && g.lease.Downscale.Zone == name &&
		g.lease.Downscale.Version == d.version && g.lease.Downscale.To == d.to
	rule = judge.Disruption{OtherZoneDisrupted: otherZoneDisrupted, OtherZonesDown: otherZonesDown, Unrecorded: !recorded}.BrokenRule(judge.AllRules)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s scales %s down to %d; down: %s", d.actor, name, d.to, h.describeDown(g))
}

// tooSoon returns why a downscale is too soon after the downscale of another zone; "" if it is not.
func (h *groupHistory) tooSoon(g *simulatedGroup, n int, now time.Time) string {
	for zone, s := range h.lastDownscales {
		between := max(s.minBetween, g.zones[n].MinBetween.Duration)
		if zone != n && !s.at.IsZero() && now.Before(s.at.Add(between)) {
			return fmt.Sprintf("%s is scaled down %s after %s; the minimum time between downscales is %s", g.zones[n].Name, now.Sub(s.at), g.zones[zone].Name, between)
		}
	}
	return ""
}

// describeDown lists the pods that are down, and the cause: lockstep, or the pod itself.
func (h *groupHistory) describeDown(g *simulatedGroup) string {
	var all []string
	for n := range g.zones {
		for ordinal, dt := range h.downtimes[n] {
			if dt.since == 0 {
				continue
			}
			cause := "itself"
			if dt.byLockstep {
				cause = "lockstep"
			}
			all = append(all, fmt.Sprintf("%s since %d by %s", plan.PodName(g.zones[n].Name, ordinal), dt.since, cause))
		}
		if h.disrupted[n] {
			all = append(all, g.zones[n].Name+" is being scaled down")
		}
	}
	return strings.Join(all, ", ")
}
