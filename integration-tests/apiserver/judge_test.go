package apiserver_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fact is one state of one object as the API server told it. Versions of all
// kinds are one sequence, since they share one store. Exactly one of the states
// is set.
type fact struct {
	version uint64
	at      time.Time
	pod     *podState
	zone    *zoneState
	hold    *holdState
}

// podState is what the judge looks at in a pod.
type podState struct {
	name     string
	uid      string
	owner    string // UID of the StatefulSet that controls it
	revision string
	ready    bool // its Ready condition, whether or not it is leaving
	leaving  bool
	gone     bool
}

func (p *podState) up() bool { return p != nil && p.ready && !p.leaving && !p.gone }

// zoneState is what the judge looks at in a StatefulSet.
type zoneState struct {
	name     string
	uid      string
	group    string
	grouped  bool
	replicas int
	start    int
	budget   int
	paused   bool
	onDelete bool
	revision string // the update revision
	gone     bool
}

// holdState is what the judge looks at in the Lease of a group.
type holdState struct {
	group  string
	holder string
	noted  []string // UIDs of the pods with an intent
	gone   bool
}

// rules are what may differ between tests.
type rules struct {
	grace     time.Duration // how long the operator may not know of what others did
	unordered bool          // the test itself upsets the order of zones or pods
	untouched bool          // the namespace never opted in
}

// defaultGrace is from when on a judge counts what breaks by itself.
const defaultGrace = time.Second

// takedown is a deletion by an operator that had an effect.
type takedown struct {
	at      time.Time
	version uint64
	group   string
	zone    string
	pod     string
	uid     string
	wasUp   bool // it served until then
}

// judge replays a history and says what may never happen and did: between zones,
// beyond budgets, of the wrong pods, without a note, in the wrong order.
// deletedByOperator tells for the UID of a pod who deleted it.
func judge(history []fact, deletedByOperator func(uid string) bool, r rules) ([]takedown, []string) {
	if r.grace == 0 {
		r.grace = defaultGrace
	}
	c := &court{
		rules: r, ours: deletedByOperator,
		pods: map[string]*podState{}, zones: map[string][]dated{}, holds: map[string]*holdState{},
		down: map[place]outage{}, judged: map[string]bool{},
	}
	history = slices.SortedStableFunc(slices.Values(history), func(a, b fact) int { return cmp.Compare(a.version, b.version) })
	for _, f := range history {
		c.see(f)
	}
	if !r.unordered {
		c.order()
	}
	return c.takedowns, c.wrong
}

type court struct {
	rules
	ours      func(uid string) bool
	pods      map[string]*podState // by name
	zones     map[string][]dated   // by UID, all states of each
	holds     map[string]*holdState
	down      map[place]outage
	judged    map[string]bool // UIDs whose deletion was judged
	takedowns []takedown
	budgets   []int // of the zone, beside each takedown
	wrong     []string
}

// dated is a state of a zone and when it began.
type dated struct {
	from time.Time
	*zoneState
}

// place is where a pod should be.
type place struct {
	zone    string // UID
	ordinal int
}

// outage says since when no pod serves in a place, and whether an operator
// began it.
type outage struct {
	since time.Time
	ours  bool
}

func (c *court) object(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// see takes one fact in. A deletion is judged by the state just before it.
func (c *court) see(f fact) {
	var victim *podState
	switch {
	case f.hold != nil:
		c.holds[f.hold.group] = f.hold
	case f.zone != nil:
		c.zones[f.zone.uid] = append(c.zones[f.zone.uid], dated{f.at, f.zone})
	case f.pod != nil:
		if c.isTakedown(f.pod) {
			c.try(f)
			victim = f.pod
		}
		known := c.pods[f.pod.name]
		if f.pod.gone && known != nil && known.uid != f.pod.uid {
			return // the end of an earlier pod of this name
		}
		c.pods[f.pod.name] = f.pod
	}
	c.survey(f.at, victim)
}

func (c *court) isTakedown(p *podState) bool {
	if (!p.leaving && !p.gone) || c.judged[p.uid] || !c.ours(p.uid) {
		return false
	}
	c.judged[p.uid] = true
	return true
}

// survey brings the list of outages up to date.
func (c *court) survey(now time.Time, victim *podState) {
	current := map[place]outage{}
	for uid, states := range c.zones {
		z := last(states)
		if z.gone {
			continue
		}
		for n := z.start; n < z.start+z.replicas; n++ {
			at, name := place{uid, n}, podName(z.name, n)
			if c.pod(name, uid).up() {
				continue
			}
			out, known := c.down[at]
			if !known {
				out = outage{since: now, ours: victim != nil && victim.name == name && victim.owner == uid}
			}
			current[at] = out
		}
	}
	c.down = current
}

// pod returns the pod of that name if it belongs to the zone, or nil.
func (c *court) pod(name, zone string) *podState {
	p := c.pods[name]
	if p == nil || p.owner != zone || p.gone {
		return nil
	}
	return p
}

// try judges one deletion by an operator.
func (c *court) try(f fact) {
	p := f.pod
	before := c.pods[p.name]
	wasUp := before != nil && before.uid == p.uid && before.up()
	t := takedown{at: f.at, version: f.version, pod: p.name, uid: p.uid, wasUp: wasUp}
	if c.untouched {
		c.object("%s was deleted in a namespace that did not opt in", p.name)
	}
	states := c.lately(p.owner, f.at)
	if len(states) == 0 {
		c.object("%s was deleted, which belongs to no zone", p.name)
		return
	}
	z := last(states).zoneState
	t.group, t.zone = z.group, z.name
	c.takedowns = append(c.takedowns, t)
	c.budgets = append(c.budgets, widest(states))
	c.tryPod(p, states)
	if wasUp {
		c.tryOthers(f, z)
		c.tryBudget(f, states)
		c.tryHold(p, z)
	}
}

// tryPod asks whether the pod could be meant at all.
func (c *court) tryPod(p *podState, states []dated) {
	ordinal, _ := ordinalOf(p.name)
	claims := []struct {
		what string
		fits func(dated) bool
	}{
		{"was left by a deleted StatefulSet", func(z dated) bool { return !z.gone }},
		{"belongs to no group", func(z dated) bool { return z.grouped }},
		{"was not outdated", func(z dated) bool { return z.revision != "" && z.revision != p.revision }},
		{"belongs to a paused zone", func(z dated) bool { return !z.paused }},
		{"is beyond spec.replicas", func(z dated) bool { return z.start <= ordinal && ordinal < z.start+z.replicas }},
	}
	for _, claim := range claims {
		if !slices.ContainsFunc(states, claim.fits) {
			c.object("%s was deleted, which %s", p.name, claim.what)
		}
	}
}

// tryOthers asks whether the rest of the group was whole and left to lockstep.
func (c *court) tryOthers(f fact, z *zoneState) {
	for uid := range c.zones {
		other := c.lately(uid, f.at)
		if len(other) == 0 || last(other).gone || last(other).group != z.group || !last(other).grouped {
			continue
		}
		name := last(other).name
		if !slices.ContainsFunc(other, func(s dated) bool { return s.onDelete }) {
			c.object("%s was deleted while zone %s is not OnDelete", f.pod.name, name)
		}
		if uid == z.uid {
			continue
		}
		for at, out := range c.down {
			if at.zone == uid && c.counts(out, f.at) {
				c.object("%s of zone %s was deleted while %s-%d of zone %s was down", f.pod.name, z.name, name, at.ordinal, name)
			}
		}
	}
}

// tryBudget asks whether fewer pods of the zone were down than it allows.
func (c *court) tryBudget(f fact, states []dated) {
	downAfter := 1
	for at, out := range c.down {
		if at.zone == f.pod.owner && c.counts(out, f.at) {
			downAfter++
		}
	}
	if budget := widest(states); downAfter > budget {
		c.object("%s was deleted, so %d pods of its zone were down, %d allowed", f.pod.name, downAfter, budget)
	}
}

// tryHold asks whether the group was held for this, and the pod noted, before.
func (c *court) tryHold(p *podState, z *zoneState) {
	h := c.holds[z.group]
	switch {
	case h == nil || h.gone:
		c.object("%s was deleted without a Lease of its group", p.name)
	case h.holder != "rollout/"+z.name:
		c.object("%s was deleted while %q had the Lease of its group", p.name, h.holder)
	case !slices.Contains(h.noted, p.uid):
		c.object("%s was deleted without a note in the Lease of its group", p.name)
	}
}

// counts tells whether an operator had to know of an outage.
func (c *court) counts(out outage, now time.Time) bool {
	return out.ours || now.Sub(out.since) > c.grace
}

// lately returns the states that a zone had within the time of grace.
func (c *court) lately(uid string, now time.Time) []dated {
	states := c.zones[uid]
	for i := len(states) - 1; i > 0; i-- {
		if now.Sub(states[i].from) > c.grace {
			return states[i:]
		}
	}
	return states
}

func widest(states []dated) int {
	budget := 0
	for _, s := range states {
		budget = max(budget, s.budget)
	}
	return budget
}

// order objects to zones out of natural order and ordinals that do not ascend,
// as far as pods that served were taken down for the first time.
func (c *court) order() {
	highest := map[string]int{}
	seen := map[string]bool{}
	latest := map[string]string{} // zone by group
	for i, t := range c.takedowns {
		if !t.wasUp || seen[t.pod] {
			continue
		}
		seen[t.pod] = true
		ordinal, _ := ordinalOf(t.pod)
		before, begun := highest[t.zone]
		switch {
		case !begun && naturally(t.zone, latest[t.group]) < 0:
			c.object("zone %s began after zone %s", t.zone, latest[t.group])
		case begun && ordinal+c.budgets[i] <= before: // what goes together arrives in any order
			c.object("%s was deleted after %s-%d", t.pod, t.zone, before)
		}
		highest[t.zone] = max(before, ordinal)
		if !begun {
			latest[t.group] = t.zone
		}
	}
}

func podName(zone string, ordinal int) string { return zone + "-" + strconv.Itoa(ordinal) }

// ordinalOf returns the number at the end of a pod's name.
func ordinalOf(pod string) (int, bool) {
	n, err := strconv.Atoi(pod[strings.LastIndex(pod, "-")+1:])
	return n, err == nil
}

// naturally compares names of the form text-number, the number as a number.
func naturally(a, b string) int {
	n, aNumbered := ordinalOf(a)
	m, bNumbered := ordinalOf(b)
	textA, textB := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if aNumbered && bNumbered && textA == textB {
		return cmp.Compare(n, m)
	}
	return strings.Compare(a, b)
}

func last[T any](all []T) T { return all[len(all)-1] }
