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

// groupHistory keeps the part of a group's history that the laws need. It knows what the API
// server stores, and what the API server has shown to each process. It knows nothing of the
// memory of processes.
type groupHistory struct {
	downtimes      [][]downtime    // by zone and ordinal
	disrupted      []bool          // zones in which a downscale through lockstep deletes pods that were up
	lastDownscales []pastDownscale // the last downscale of each zone
	returned       []plan.Version  // since when a zone that was not remembered is in the group again
	pauses         []pause         // of each zone
	left           []plan.Version  // since when a zone is not in the group; zero: it is
	trueClocks     bool            // the clocks of processes are true
}

// downtime is the time since which a wanted pod is down.
type downtime struct {
	since       plan.Version    // zero: it is up, or not wanted
	newlyWanted bool            // it is down since it is wanted, not since it fell
	byLockstep  bool            // disrupted by lockstep, until another pod of that name is Ready
	readySince  plan.Version    // when the pod that is up became Ready
	readyUID    string          // its UID
	availableAt time.Time       // when that pod has been Ready for minReadySeconds; until then it counts as down
	earlier     earlierDowntime // the previous fall, if the pod fell again by itself before until

	evicted     bool         // the pod that is down, or was up last, was evicted
	recordedAt  plan.Version // of the first Lease that records it
	recordedUID string       // its UID, while it is recorded
}

// earlierDowntime is a fall that would have ended by now for observers that did not see the next
// one.
type earlierDowntime struct {
	since       plan.Version
	newlyWanted bool
	byLockstep  bool
	availableAt time.Time
}

// pastDownscale is when a zone scaled down.
type pastDownscale struct {
	at         time.Time
	minBetween time.Duration // the minimum time between downscales that the zone required
}

func newGroupHistory(zones, ordinals int, trueClocks bool) groupHistory {
	w := groupHistory{trueClocks: trueClocks, disrupted: make([]bool, zones), lastDownscales: make([]pastDownscale, zones), returned: make([]plan.Version, zones), pauses: make([]pause, zones), left: make([]plan.Version, zones)}
	for range zones {
		w.downtimes = append(w.downtimes, make([]downtime, ordinals))
	}
	return w
}

// update updates the history of a group to what is stored since a version.
func (w *groupHistory) update(g *simulatedGroup, version plan.Version, zoneChanged bool, now time.Time) {
	w.endDowntimes(now)
	for n := range g.zones {
		for ordinal := range w.downtimes[n] {
			f, p := &w.downtimes[n][ordinal], g.pods[n][ordinal]
			up, wasReady := p.upInZone(), f.readyUID != ""
			switch {
			case up && f.readyUID != p.UID:
				f.readySince, f.readyUID, f.availableAt = version, p.UID, w.availableAt(p, g.zones[n].MinReady)
			case !up:
				f.readyUID = ""
			}
			switch {
			case !g.wanted(n, ordinal), up && !now.Before(f.availableAt):
				f.since, f.byLockstep, f.earlier = 0, false, earlierDowntime{}
			case up:
			case wasReady && f.since > 0:
				f.earlier = earlierDowntime{f.since, f.newlyWanted, f.byLockstep, f.availableAt}
				f.since, f.newlyWanted, f.byLockstep = version, zoneChanged, false
			case f.since == 0:
				f.since, f.newlyWanted = version, zoneChanged
			}
		}
		w.disrupted[n] = w.disrupted[n] && g.hasSurplus(n)
		if until := g.zones[n].PausedUntil.Time; !g.zones[n].Paused || until != w.pauses[n].until {
			w.pauses[n] = pause{until: until}
		}
		w.pauses[n].since = since(w.pauses[n].since, g.zones[n].Paused, version)
		w.left[n] = since(w.left[n], g.zones[n].absence != inGroup, version)
	}
}

// pause is the present pause of a zone.
type pause struct {
	since plan.Version // zero: there is none
	until time.Time    // zero: until a user ends it
}

// since returns since when something is true.
func since(former plan.Version, is bool, version plan.Version) plan.Version {
	switch {
	case !is:
		return 0
	case former == 0:
		return version
	}
	return former
}

// pausedOrAbsent reports whether a zone was paused, or was not in the group, before a round began that rolls it. A
// pause that ends by time does not count once its end can have come by a wrong clock.
func (w *groupHistory) pausedOrAbsent(n int, began plan.Version, now time.Time) bool {
	p := w.pauses[n]
	ended := !p.until.IsZero() && (!w.trueClocks || !now.Before(p.until))
	return p.since > 0 && p.since <= began && !ended || w.left[n] > 0 && w.left[n] <= began
}

// zoneReturns updates the history when a zone returns to the group.
func (w *groupHistory) zoneReturns(g *simulatedGroup, n int, version plan.Version) {
	if !g.remembers(n) {
		w.returned[n] = version
	}
}

// unknowable reports whether no process could know of a fall, because its zone is neither in
// the group nor remembered, or was neither until recently.
func (w *groupHistory) unknowable(g *simulatedGroup, zone int, f downtime, shown shownVersions) bool {
	if f.byLockstep || f.earlier.byLockstep {
		return false
	}
	away := g.zones[zone].absence != inGroup && !g.remembers(zone)
	return away || (f.since < w.returned[zone] && w.returned[zone] > shown.zone(zone))
}

// endDowntimes ends the falls of pods that have been Ready for long enough by now.
func (w *groupHistory) endDowntimes(now time.Time) {
	for n := range w.downtimes {
		for ordinal := range w.downtimes[n] {
			if f := &w.downtimes[n][ordinal]; f.since > 0 && f.readyUID != "" && !now.Before(f.availableAt) {
				f.since, f.byLockstep, f.earlier = 0, false, earlierDowntime{}
			}
		}
	}
}

// updateRecorded updates the history of recorded pods to a Lease that was stored.
func (w *groupHistory) updateRecorded(g *simulatedGroup, lease *group.Hold) {
	for n, z := range g.zones {
		for ordinal := range w.downtimes[n] {
			f, uid, name := &w.downtimes[n][ordinal], "", plan.PodName(z.Name, ordinal)
			if i := slices.IndexFunc(lease.Intents, func(i plan.Intent) bool { return i.Pod == name }); i >= 0 {
				uid = lease.Intents[i].UID
			}
			if uid != "" && uid != f.recordedUID {
				f.recordedAt = lease.Version
			}
			f.recordedUID = uid
		}
	}
}

// availableAt returns when a pod begins to count as available, if clocks are true.
func (w *groupHistory) availableAt(p *pod, minReady time.Duration) time.Time {
	if !w.trueClocks || minReady == 0 {
		return time.Time{}
	}
	return p.StableAt(minReady)
}

// disruption is a delete as it was requested.
type disruption struct {
	actor        string
	uid          string
	version      plan.Version  // zero: any
	startVersion plan.Version  // of the API server, before the process read anything for this
	shown        shownVersions // to the process, before it decided
	evicted      bool
}

// checkDisruption judges the delete of a pod that was up.
func (w *groupHistory) checkDisruption(g *simulatedGroup, n, ordinal int, t disruption, version plan.Version, exact bool, now time.Time) (rule, detail string) {
	rest, here, joined, elsewhere := 0, 0, 0, false
	own := &w.downtimes[n][ordinal]
	own.evicted = t.evicted
	for zone := range g.zones {
		for o, f := range w.downtimes[zone] {
			if f.since == 0 {
				continue
			}
			elsewhere = elsewhere || (zone != n && f.disruptedByLockstep(now))
			counts := !(f.excused(t.shown, zone, now) || w.unknowable(g, zone, f, t.shown)) || (zone == n && o == ordinal)
			switch {
			case counts && zone == n && f.evicted && f.recordedAt > own.recordedAt:
				joined++
			case counts && zone == n:
				here++
			case counts:
				rest++
			}
		}
		elsewhere = elsewhere || (zone != n && w.disrupted[zone])
	}
	budget := g.rolloutBudget(n)
	if t.evicted {
		budget, here, joined = g.evictionBudget(n), here+joined, 0
	}
	if here+joined > max(budget, g.evictionBudget(n)) {
		here += joined // the budget of evictions allowed the joined pods together with the pods recorded before
	}
	rule = judge.Disruption{
		WrongTarget: !exact, Paused: !t.evicted && w.pausedOrAbsent(n, t.startVersion, now),
		OtherZoneDisrupted: elsewhere, OtherZonesDown: rest, Down: here, Budget: budget, Unrecorded: !g.recordsDisruption(n, ordinal, t, version),
	}.BrokenRule(judge.AllRules)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s sends %s away; down: %s", t.actor, plan.PodName(g.zones[n].Name, ordinal), w.describeDown(g))
}

// excused reports whether the decider could not know, from what it was shown, that a pod is
// down by itself.
func (f downtime) excused(shown shownVersions, zone int, now time.Time) bool {
	if e := f.earlier; e.since > 0 && now.Before(e.availableAt) && !notShown(e.since, e.newlyWanted, e.byLockstep, shown, zone) {
		return false
	}
	return notShown(f.since, f.newlyWanted, f.byLockstep, shown, zone)
}

func notShown(since plan.Version, newlyWanted, byLockstep bool, shown shownVersions, zone int) bool {
	if newlyWanted {
		return !byLockstep && since > shown.zone(zone)
	}
	return !byLockstep && since > shown.pods[zone]
}

// disruptedByLockstep reports whether lockstep disrupted the pod that is down.
func (f downtime) disruptedByLockstep(now time.Time) bool {
	return f.byLockstep || f.earlier.byLockstep && now.Before(f.earlier.availableAt)
}

// recordsDisruption reports whether the Lease records exactly this delete.
func (g *simulatedGroup) recordsDisruption(n, ordinal int, t disruption, version plan.Version) bool {
	if g.lease == nil || g.lease.Holder.Zone() != g.zones[n].Name {
		return false
	}
	name := plan.PodName(g.zones[n].Name, ordinal)
	for _, i := range g.lease.Intents {
		if i.Pod == name && i.UID == t.uid && (i.Version == version || (t.evicted && i.Granted())) {
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

// downscale is a change of spec.replicas as it was requested.
type downscale struct {
	actor   string
	version plan.Version
	to      int
	shown   shownVersions
}

// disrupts reports whether a downscale deletes a pod that is up and was up when the process
// decided, because no process could know better.
func (w *groupHistory) disrupts(g *simulatedGroup, n int, d downscale) bool {
	for ordinal := d.to; ordinal < g.zones[n].Replicas; ordinal++ {
		p := g.pods[n][ordinal]
		if p.upInZone() && w.downtimes[n][ordinal].readySince <= d.shown.pods[n] {
			return true
		}
	}
	return false
}

// checkDownscale judges a downscale that is about to delete pods that are up.
func (w *groupHistory) checkDownscale(g *simulatedGroup, n int, d downscale, now time.Time) (rule, detail string) {
	rest, elsewhere := 0, false
	for zone := range g.zones {
		if zone == n {
			continue
		}
		for _, f := range w.downtimes[zone] {
			if f.since > 0 {
				elsewhere = elsewhere || f.disruptedByLockstep(now)
				if !f.excused(d.shown, zone, now) && !w.unknowable(g, zone, f, d.shown) {
					rest++
				}
			}
		}
		elsewhere = elsewhere || w.disrupted[zone]
	}
	name := g.zones[n].Name
	recorded := g.lease != nil && g.lease.Holder.Zone() == name && g.lease.Downscale.Zone == name &&
		g.lease.Downscale.Version == d.version && g.lease.Downscale.To == d.to
	rule = judge.Disruption{OtherZoneDisrupted: elsewhere, OtherZonesDown: rest, Unrecorded: !recorded}.BrokenRule(judge.AllRules)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s lets %s shrink to %d; down: %s", d.actor, name, d.to, w.describeDown(g))
}

// tooSoon returns why the downscale is too soon after the downscale of another zone; "" if
// it is not.
func (w *groupHistory) tooSoon(g *simulatedGroup, n int, now time.Time) string {
	for zone, s := range w.lastDownscales {
		between := max(s.minBetween, g.zones[n].MinBetween.Duration)
		if zone != n && !s.at.IsZero() && now.Before(s.at.Add(between)) {
			return fmt.Sprintf("%s shrinks %s after %s, and %s have to lie between", g.zones[n].Name, now.Sub(s.at), g.zones[zone].Name, between)
		}
	}
	return ""
}

// describeDown lists the pods that are down, and whether lockstep disrupted them.
func (w *groupHistory) describeDown(g *simulatedGroup) string {
	var all []string
	for n := range g.zones {
		for ordinal, f := range w.downtimes[n] {
			if f.since == 0 {
				continue
			}
			by := "itself"
			if f.byLockstep {
				by = "lockstep"
			}
			all = append(all, fmt.Sprintf("%s since %d by %s", plan.PodName(g.zones[n].Name, ordinal), f.since, by))
		}
		if w.disrupted[n] {
			all = append(all, g.zones[n].Name+" shrinks")
		}
	}
	return strings.Join(all, ", ")
}
