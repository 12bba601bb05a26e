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

// witness keeps the part of a group's history that the laws need. It knows what the API
// server stores, and what the API server has shown to each process. It knows nothing of the
// memory of processes.
type witness struct {
	falls  [][]fall       // by zone and ordinal
	harmed []bool         // zones in which a downscale through lockstep deletes pods that were up
	shrank []shrunk       // the last downscale of each zone
	back   []plan.Version // since when a zone that was not remembered is in the group again
	paused []pause        // of each zone
	away   []plan.Version // since when a zone is not in the group; zero: it is
	timed  bool           // the clocks of processes are true
}

// fall is the time since which a wanted pod is down.
type fall struct {
	since  plan.Version // zero: it is up, or not wanted
	asked  bool         // it is down since it is wanted, not since it fell
	ours   bool         // disrupted by lockstep, until another pod of that name is Ready
	rose   plan.Version // when the pod that is up became Ready
	served string       // its UID
	until  time.Time    // when that pod has been Ready for minReadySeconds; until then it counts as down
	former earlier      // the previous fall, if the pod fell again by itself before until

	evicted bool         // the pod that is down, or was up last, was evicted
	noted   plan.Version // of the first Lease that records it
	of      string       // its UID, while it is recorded
}

// earlier is a fall that would have ended by now for observers that did not see the next
// one.
type earlier struct {
	since plan.Version
	asked bool
	ours  bool
	until time.Time
}

// shrunk is when a zone scaled down.
type shrunk struct {
	at time.Time
	by time.Duration // the minimum time between downscales that the zone required
}

func newWitness(zones, ordinals int, timed bool) witness {
	w := witness{timed: timed, harmed: make([]bool, zones), shrank: make([]shrunk, zones), back: make([]plan.Version, zones), paused: make([]pause, zones), away: make([]plan.Version, zones)}
	for range zones {
		w.falls = append(w.falls, make([]fall, ordinals))
	}
	return w
}

// watch updates the history of a group to what is stored since a version.
func (w *witness) watch(g *simulatedGroup, version plan.Version, zoneChanged bool, now time.Time) {
	w.recover(now)
	for n := range g.zones {
		for ordinal := range w.falls[n] {
			f, p := &w.falls[n][ordinal], g.pods[n][ordinal]
			up, served := p.serves(), f.served != ""
			switch {
			case up && f.served != p.UID:
				f.rose, f.served, f.until = version, p.UID, w.stableAt(p, g.zones[n].MinReady)
			case !up:
				f.served = ""
			}
			switch {
			case !g.wanted(n, ordinal), up && !now.Before(f.until):
				f.since, f.ours, f.former = 0, false, earlier{}
			case up:
			case served && f.since > 0:
				f.former = earlier{f.since, f.asked, f.ours, f.until}
				f.since, f.asked, f.ours = version, zoneChanged, false
			case f.since == 0:
				f.since, f.asked = version, zoneChanged
			}
		}
		w.harmed[n] = w.harmed[n] && g.surplus(n)
		if until := g.zones[n].PausedUntil.Time; !g.zones[n].Paused || until != w.paused[n].until {
			w.paused[n] = pause{until: until}
		}
		w.paused[n].since = since(w.paused[n].since, g.zones[n].Paused, version)
		w.away[n] = since(w.away[n], g.zones[n].away != inGroup, version)
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

// standsStill reports whether a zone was paused, or was not in the group, before a round began that rolls it. A
// pause that ends by time does not count once its end can have come by a wrong clock.
func (w *witness) standsStill(n int, began plan.Version, now time.Time) bool {
	p := w.paused[n]
	ended := !p.until.IsZero() && (!w.timed || !now.Before(p.until))
	return p.since > 0 && p.since <= began && !ended || w.away[n] > 0 && w.away[n] <= began
}

// comesBack updates the history when a zone returns to the group.
func (w *witness) comesBack(g *simulatedGroup, n int, version plan.Version) {
	if !g.remembers(n) {
		w.back[n] = version
	}
}

// unheeded reports whether no process could know of a fall, because its zone is neither in
// the group nor remembered, or was neither until recently.
func (w *witness) unheeded(g *simulatedGroup, zone int, f fall, shown served) bool {
	if f.ours || f.former.ours {
		return false
	}
	away := g.zones[zone].away != inGroup && !g.remembers(zone)
	return away || (f.since < w.back[zone] && w.back[zone] > shown.zone(zone))
}

// recover ends the falls of pods that have been Ready for long enough by now.
func (w *witness) recover(now time.Time) {
	for n := range w.falls {
		for ordinal := range w.falls[n] {
			if f := &w.falls[n][ordinal]; f.since > 0 && f.served != "" && !now.Before(f.until) {
				f.since, f.ours, f.former = 0, false, earlier{}
			}
		}
	}
}

// notes updates the history of recorded pods to a Lease that was stored.
func (w *witness) notes(g *simulatedGroup, lease *group.Hold) {
	for n, z := range g.zones {
		for ordinal := range w.falls[n] {
			f, uid, name := &w.falls[n][ordinal], "", plan.PodName(z.Name, ordinal)
			if i := slices.IndexFunc(lease.Intents, func(i plan.Intent) bool { return i.Pod == name }); i >= 0 {
				uid = lease.Intents[i].UID
			}
			if uid != "" && uid != f.of {
				f.noted = lease.Version
			}
			f.of = uid
		}
	}
}

// stableAt returns when a pod begins to count as available, if clocks are true.
func (w *witness) stableAt(p *pod, minReady time.Duration) time.Time {
	if !w.timed || minReady == 0 {
		return time.Time{}
	}
	return p.StableAt(minReady)
}

// disruption is a delete as it was requested.
type disruption struct {
	by      string
	uid     string
	version plan.Version // zero: any
	began   plan.Version // of the API server, before the process read anything for this
	shown   served       // to the process, before it decided
	evicted bool
}

// judgeDisruption judges the delete of a pod that was up.
func (w *witness) judgeDisruption(g *simulatedGroup, n, ordinal int, t disruption, version plan.Version, exact bool, now time.Time) (rule, how string) {
	rest, here, joined, elsewhere := 0, 0, 0, false
	own := &w.falls[n][ordinal]
	own.evicted = t.evicted
	for zone := range g.zones {
		for o, f := range w.falls[zone] {
			if f.since == 0 {
				continue
			}
			elsewhere = elsewhere || (zone != n && f.byUs(now))
			counts := !(f.excused(t.shown, zone, now) || w.unheeded(g, zone, f, t.shown)) || (zone == n && o == ordinal)
			switch {
			case counts && zone == n && f.evicted && f.noted > own.noted:
				joined++
			case counts && zone == n:
				here++
			case counts:
				rest++
			}
		}
		elsewhere = elsewhere || (zone != n && w.harmed[zone])
	}
	budget := g.rolloutBudget(n)
	if t.evicted {
		budget, here, joined = g.evictionBudget(n), here+joined, 0
	}
	if here+joined > max(budget, g.evictionBudget(n)) {
		here += joined // the budget of evictions allowed the joined pods together with the pods recorded before
	}
	rule = judge.Disruption{
		Strange: !exact, Still: !t.evicted && w.standsStill(n, t.began, now),
		Elsewhere: elsewhere, Rest: rest, Down: here, Budget: budget, Unnoted: !g.notes(n, ordinal, t, version),
	}.Broken(judge.All)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s sends %s away; down: %s", t.by, plan.PodName(g.zones[n].Name, ordinal), w.fallen(g))
}

// excused reports whether the decider could not know, from what it was shown, that a pod is
// down by itself.
func (f fall) excused(shown served, zone int, now time.Time) bool {
	if e := f.former; e.since > 0 && now.Before(e.until) && !unknown(e.since, e.asked, e.ours, shown, zone) {
		return false
	}
	return unknown(f.since, f.asked, f.ours, shown, zone)
}

func unknown(since plan.Version, asked, ours bool, shown served, zone int) bool {
	if asked {
		return !ours && since > shown.zone(zone)
	}
	return !ours && since > shown.pods[zone]
}

// byUs reports whether lockstep disrupted the pod that is down.
func (f fall) byUs(now time.Time) bool {
	return f.ours || f.former.ours && now.Before(f.former.until)
}

// notes reports whether the Lease records exactly this delete.
func (g *simulatedGroup) notes(n, ordinal int, t disruption, version plan.Version) bool {
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
	by      string
	version plan.Version
	to      int
	shown   served
}

// harms reports whether a downscale deletes a pod that is up and was up when the process
// decided, because no process could know better.
func (w *witness) harms(g *simulatedGroup, n int, d downscale) bool {
	for ordinal := d.to; ordinal < g.zones[n].Replicas; ordinal++ {
		p := g.pods[n][ordinal]
		if p.serves() && w.falls[n][ordinal].rose <= d.shown.pods[n] {
			return true
		}
	}
	return false
}

// judgeDownscale judges a downscale that is about to delete pods that are up.
func (w *witness) judgeDownscale(g *simulatedGroup, n int, d downscale, now time.Time) (rule, how string) {
	rest, elsewhere := 0, false
	for zone := range g.zones {
		if zone == n {
			continue
		}
		for _, f := range w.falls[zone] {
			if f.since > 0 {
				elsewhere = elsewhere || f.byUs(now)
				if !f.excused(d.shown, zone, now) && !w.unheeded(g, zone, f, d.shown) {
					rest++
				}
			}
		}
		elsewhere = elsewhere || w.harmed[zone]
	}
	name := g.zones[n].Name
	noted := g.lease != nil && g.lease.Holder.Zone() == name && g.lease.Downscale.Zone == name &&
		g.lease.Downscale.Version == d.version && g.lease.Downscale.To == d.to
	rule = judge.Disruption{Elsewhere: elsewhere, Rest: rest, Unnoted: !noted}.Broken(judge.All)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s lets %s shrink to %d; down: %s", d.by, name, d.to, w.fallen(g))
}

// tooSoon returns why the downscale is too soon after the downscale of another zone; "" if
// it is not.
func (w *witness) tooSoon(g *simulatedGroup, n int, now time.Time) string {
	for zone, s := range w.shrank {
		between := max(s.by, g.zones[n].MinBetween.Duration)
		if zone != n && !s.at.IsZero() && now.Before(s.at.Add(between)) {
			return fmt.Sprintf("%s shrinks %s after %s, and %s have to lie between", g.zones[n].Name, now.Sub(s.at), g.zones[zone].Name, between)
		}
	}
	return ""
}

// fallen lists the pods that are down, and whether lockstep disrupted them.
func (w *witness) fallen(g *simulatedGroup) string {
	var all []string
	for n := range g.zones {
		for ordinal, f := range w.falls[n] {
			if f.since == 0 {
				continue
			}
			by := "itself"
			if f.ours {
				by = "lockstep"
			}
			all = append(all, fmt.Sprintf("%s since %d by %s", plan.PodName(g.zones[n].Name, ordinal), f.since, by))
		}
		if w.harmed[n] {
			all = append(all, g.zones[n].Name+" shrinks")
		}
	}
	return strings.Join(all, ", ")
}
