package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/sim/judge"
)

// witness keeps of a group's history what the laws ask about. It knows what the API
// server stores, and what it has shown to whom; of the memory of processes it knows
// nothing.
type witness struct {
	falls  [][]fall       // by zone and ordinal
	harmed []bool         // zones that pods leave that served, by a downscale through lockstep
	shrank []shrunk       // the last such downscale of each zone
	back   []plan.Version // since when a zone is in the group that nobody remembered
	timed  bool           // processes know what time it is
}

// fall is since when a pod that is asked for is down.
type fall struct {
	since  plan.Version // zero: it serves, or is not asked for
	asked  bool         // it is down since it is asked for, not since it fell
	ours   bool         // by lockstep, until another pod of that name is Ready
	rose   plan.Version // when the pod that serves became Ready
	served string       // its UID
	until  time.Time    // which serves for as long as its zone asks for; it is down before
	former earlier      // where it fell again by itself before it counted

	evicted bool         // whoever is down, or served last
	noted   plan.Version // of the Lease that notes it first
	of      string       // its UID, while it is noted
}

// earlier is a fall that would have ended by now, for those who did not see the next one.
type earlier struct {
	since plan.Version
	asked bool
	ours  bool
	until time.Time
}

// shrunk is when a zone shrank.
type shrunk struct {
	at time.Time
	by time.Duration // the minimum time that its zone asked for
}

func newWitness(zones int, timed bool) witness {
	w := witness{timed: timed, harmed: make([]bool, zones), shrank: make([]shrunk, zones), back: make([]plan.Version, zones)}
	for range zones {
		w.falls = append(w.falls, make([]fall, mostPods))
	}
	return w
}

// watch brings the account of a group up to what is stored of it since a version.
func (w *witness) watch(g *group, version plan.Version, zoneChanged bool, now time.Time) {
	w.recover(now)
	for n := range g.zones {
		for ordinal := range w.falls[n] {
			f, p := &w.falls[n][ordinal], g.pods[n][ordinal]
			up, served := p != nil && p.Up(), f.served != ""
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
	}
}

// comesBack brings the account up to a zone's return to the group.
func (w *witness) comesBack(g *group, n int, version plan.Version) {
	if !g.remembers(n) {
		w.back[n] = version
	}
}

// unheeded reports whether a fall is nothing that anybody of the group could know, since its
// zone is not in the group and not remembered, or was not until lately.
func (w *witness) unheeded(g *group, zone int, f fall, shown served) bool {
	if f.ours || f.former.ours {
		return false
	}
	away := g.zones[zone].away != inGroup && !g.remembers(zone)
	return away || (f.since < w.back[zone] && w.back[zone] > shown.zone(zone))
}

// recover ends the falls of those who serve for long enough by now.
func (w *witness) recover(now time.Time) {
	for n := range w.falls {
		for ordinal := range w.falls[n] {
			if f := &w.falls[n][ordinal]; f.since > 0 && f.served != "" && !now.Before(f.until) {
				f.since, f.ours, f.former = 0, false, earlier{}
			}
		}
	}
}

// notes brings the account of who is noted up to a Lease that was stored.
func (w *witness) notes(g *group, lease *plan.Hold) {
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

// stableAt is from when on a pod counts, for those who know what time it is.
func (w *witness) stableAt(p *pod, minReady time.Duration) time.Time {
	if !w.timed || minReady == 0 {
		return time.Time{}
	}
	return p.StableAt(minReady)
}

// takedown is a delete as it was asked for.
type takedown struct {
	by      string
	uid     string
	version plan.Version // zero: any
	shown   served       // to whoever decided
	evicted bool
}

// judgeTakedown looks at a pod of a zone that has just been sent away and was up.
func (w *witness) judgeTakedown(g *group, n, ordinal int, t takedown, version plan.Version, exact bool, now time.Time) (rule, how string) {
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
		here += joined // who joined was granted by the budget for evictions, with who was noted before
	}
	rule = judge.Deed{
		Strange: !exact, Elsewhere: elsewhere, Rest: rest, Down: here, Budget: budget, Unnoted: !g.notes(n, ordinal, t, version),
	}.Broken(judge.All)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s sends %s away; down: %s", t.by, plan.PodName(g.zones[n].Name, ordinal), w.fallen(g))
}

// excused reports whether nobody could know that a pod is down by itself, from what was
// shown to whoever decided.
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

// byUs reports whether lockstep took the pod down that is missing.
func (f fall) byUs(now time.Time) bool {
	return f.ours || f.former.ours && now.Before(f.former.until)
}

// notes reports whether the Lease covers exactly this deed.
func (g *group) notes(n, ordinal int, t takedown, version plan.Version) bool {
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

func (g *group) rolloutBudget(n int) int {
	budget := g.zones[n].MaxUnavailable.Pods
	if len(g.budgets) > 0 && g.budgets[0].Limit > 0 {
		budget = min(budget, g.budgets[0].Limit)
	}
	return budget
}

func (g *group) evictionBudget(n int) int {
	if len(g.budgets) > 0 {
		return g.budgets[0].Limit
	}
	return g.zones[n].MaxUnavailable.Pods
}

// downscale is a change of spec.replicas as it was asked for.
type downscale struct {
	by      string
	version plan.Version
	to      int
	shown   served
}

// harms reports whether a downscale takes down a pod that serves and did so as it was
// decided: nobody can know better.
func (w *witness) harms(g *group, n int, d downscale) bool {
	for ordinal := d.to; ordinal < g.zones[n].Replicas; ordinal++ {
		p := g.pods[n][ordinal]
		if p != nil && p.Up() && w.falls[n][ordinal].rose <= d.shown.pods[n] {
			return true
		}
	}
	return false
}

// judgeDownscale looks at a downscale that is about to take somebody down.
func (w *witness) judgeDownscale(g *group, n int, d downscale, now time.Time) (rule, how string) {
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
	rule = judge.Deed{Elsewhere: elsewhere, Rest: rest, Unnoted: !noted}.Broken(judge.All)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s lets %s shrink to %d; down: %s", d.by, name, d.to, w.fallen(g))
}

// tooSoon looks at when other zones shrank.
func (w *witness) tooSoon(g *group, n int, now time.Time) string {
	for zone, s := range w.shrank {
		between := max(s.by, g.zones[n].MinBetween.Duration)
		if zone != n && !s.at.IsZero() && now.Before(s.at.Add(between)) {
			return fmt.Sprintf("%s shrinks %s after %s, and %s have to lie between", g.zones[n].Name, now.Sub(s.at), g.zones[zone].Name, between)
		}
	}
	return ""
}

// fallen lists who is down, and by whom.
func (w *witness) fallen(g *group) string {
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
