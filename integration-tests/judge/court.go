package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Try replays a history and says what may never happen and did. It judges the
// namespaces that facts are about, each by itself. Requests are those of all
// namespaces, or of these at least.
func Try(history []Fact, requests []Request, rules Rules) Verdict {
	if rules.Grace == 0 {
		rules.Grace = DefaultGrace
	}
	facts, asked := map[string][]Fact{}, map[string][]Request{}
	for _, f := range history {
		facts[f.Namespace] = append(facts[f.Namespace], f)
	}
	for _, r := range requests {
		asked[r.Namespace] = append(asked[r.Namespace], r)
	}
	var all Verdict
	for _, namespace := range slices.Sorted(maps.Keys(facts)) {
		c := newCourt(namespace, asked[namespace], rules)
		c.try(facts[namespace])
		all.Takedowns = append(all.Takedowns, c.takedowns...)
		all.Violations = append(all.Violations, c.violations...)
	}
	return all
}

// court judges one namespace.
type court struct {
	Rules
	namespace  string
	requests   []Request
	deletions  map[string][]Request // of pods, by UID, in the order of time
	evictions  map[string][]Request // by the pod's name, in the order of time
	pods       map[string]*Pod      // by name
	zones      map[string][]dated   // by UID, all states of each
	holds      map[string]*Hold     // by group
	homes      []heard
	down       map[place]outage
	shrinking  map[string]*shrinkage // by the zone's UID: its last decrease that took something down
	seen       map[string]time.Time  // when pods were told of first, by UID
	judged     map[string]bool       // UIDs of pods that left, whoever sent them away
	takedowns  []Takedown
	violations []Violation
}

// dated is a state of a zone and when it began.
type dated struct {
	from time.Time
	*Zone
}

// place is where a pod should be.
type place struct {
	zone    string // UID
	ordinal int
}

// outage says since when no pod is available in a place, and what began it.
type outage struct {
	since time.Time
	by    deed
	until time.Time // when the pod there will have been Ready for long enough; zero: it is not Ready
}

// deed is how a pod was taken down.
type deed int

const (
	notOurs deed = iota
	deleted      // by an operator
	evicted      // where evictions are judged
)

func (d deed) String() string { return [...]string{"left", "deleted", "evicted"}[d] }

func (o outage) over(now time.Time) bool { return !o.until.IsZero() && !o.until.After(now) }

func newCourt(namespace string, requests []Request, rules Rules) *court {
	c := &court{
		Rules: rules, namespace: namespace, requests: requests,
		deletions: map[string][]Request{}, evictions: map[string][]Request{},
		pods: map[string]*Pod{}, zones: map[string][]dated{}, holds: map[string]*Hold{},
		down: map[place]outage{}, shrinking: map[string]*shrinkage{}, seen: map[string]time.Time{}, judged: map[string]bool{},
	}
	for _, r := range slices.SortedStableFunc(slices.Values(requests), func(a, b Request) int { return a.At.Compare(b.At) }) {
		if r.deletesPod() && r.mayHaveSucceeded() {
			c.deletions[r.UID] = append(c.deletions[r.UID], r)
		}
		if r.mayHaveEvicted() {
			c.evictions[r.Name] = append(c.evictions[r.Name], r)
		}
	}
	return c
}

func (c *court) try(facts []Fact) {
	for _, f := range slices.SortedStableFunc(slices.Values(facts), func(a, b Fact) int { return cmp.Compare(a.Version, b.Version) }) {
		c.see(f)
	}
	c.tryRequests()
	c.tryWrites()
}

func (c *court) object(guarantee int, z *Zone, format string, args ...any) {
	v := Violation{Guarantee: guarantee, Namespace: c.namespace, Text: fmt.Sprintf(format, args...)}
	if z != nil {
		v.Group, v.Zone = z.Group, z.Name
	}
	c.violations = append(c.violations, v)
}

// see takes one fact in. A deletion is judged by the state just before it.
func (c *court) see(f Fact) {
	switch {
	case f.Hold != nil:
		c.holds[f.Hold.Group] = f.Hold
	case f.Home != nil:
		c.homes = append(c.homes, heard{f.At, f.Home})
	case f.Zone != nil:
		c.tryDecrease(f)
		c.zones[f.Zone.UID] = append(c.zones[f.Zone.UID], dated{f.At, f.Zone})
		c.surveyZone(f.Zone, f.At)
	case f.Pod != nil:
		c.seePod(f)
	}
}

func (c *court) seePod(f Fact) {
	p := f.Pod
	if c.seen[p.UID].IsZero() {
		c.seen[p.UID] = f.At
	}
	by := notOurs
	if (p.Leaving || p.Gone) && !c.judged[p.UID] {
		c.judged[p.UID] = true
		by = c.tryDeparture(f)
	}
	c.shrunk(p)
	if known := c.pods[p.Name]; p.Gone && known != nil && known.UID != p.UID {
		return // the end of an earlier pod of this name
	}
	c.pods[p.Name] = p
	zone, ordinal, _ := ordinalOf(p.Name)
	for uid, states := range c.zones {
		if z := last(states); z.Name == zone && !z.Gone {
			taken := by
			if p.Owner != uid {
				taken = notOurs
			}
			c.survey(z.Zone, ordinal, f.At, taken)
		}
	}
}

// surveyZone brings the outages of a zone up to date after it was changed.
func (c *court) surveyZone(z *Zone, now time.Time) {
	for at := range c.down {
		if at.zone == z.UID && (z.Gone || at.ordinal < z.Start || at.ordinal >= z.Start+z.Replicas) {
			delete(c.down, at)
		}
	}
	if z.Gone {
		return
	}
	for n := range z.Replicas {
		c.survey(z, z.Start+n, now, notOurs)
	}
}

// survey brings the outage of one place up to date. Taken tells how what was there
// was just taken down.
func (c *court) survey(z *Zone, ordinal int, now time.Time, taken deed) {
	if ordinal < z.Start || ordinal >= z.Start+z.Replicas {
		return
	}
	at, p := place{z.UID, ordinal}, c.pods[podName(z.Name, ordinal)]
	if p != nil && p.Owner != z.UID {
		p = nil
	}
	var until time.Time
	if p.Up() {
		until = p.ReadySince.Add(z.MinReady)
		if z.MinReady == 0 || !until.After(now) {
			delete(c.down, at)
			return
		}
	}
	out, known := c.down[at]
	if !known || out.over(now) {
		out = outage{since: now, by: taken}
	}
	out.until = until
	c.down[at] = out
}

// counts tells whether an operator had to know of an outage.
func (c *court) counts(out outage, now time.Time) bool {
	return !out.over(now) && (out.by != notOurs || now.Sub(out.since) > c.Grace)
}

// lately returns the states that a zone had within the time of grace.
func (c *court) lately(uid string, now time.Time) []dated {
	states := c.zones[uid]
	for i := len(states) - 1; i > 0; i-- {
		if now.Sub(states[i].from) > c.Grace {
			return states[i:]
		}
	}
	return states
}

// longKnown tells whether an operator had to know of the first of these states.
func (c *court) longKnown(states []dated, now time.Time) bool {
	return now.Sub(states[0].from) > c.Grace
}
