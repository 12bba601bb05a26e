package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Try replays a history and says what may never happen and did. It judges the
// namespaces that facts are about, each by itself, and what operators with a list of
// namespaces wrote to others. Requests are those of all namespaces, or of these at least.
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
		all.Unexplained = append(all.Unexplained, c.unexplained...)
	}
	for _, namespace := range slices.Sorted(maps.Keys(asked)) {
		if _, watched := facts[namespace]; !watched {
			all.Violations = append(all.Violations, newCourt(namespace, asked[namespace], rules).elsewhere()...)
		}
	}
	return all
}

// elsewhere judges what was written to a namespace that nobody watched, by operators
// that have a list of those they manage. Whether others may cannot be known.
func (c *court) elsewhere() []Violation {
	unlisted := func(o Operator) bool { return len(o.Namespaces) == 0 }
	c.Operators = slices.DeleteFunc(slices.Clone(c.Operators), unlisted)
	c.tryWrites()
	return c.violations
}

// court judges one namespace.
type court struct {
	Rules
	namespace  string
	requests   []Request
	departures map[string][]Request // deletions and evictions of pods that may have had an effect, by the pod's name
	pods       map[string]*Pod      // by name
	zones      map[string][]dated   // by name, all states of each
	nameOf     map[string]string    // of StatefulSets, by UID
	owners     map[string]string    // the StatefulSet that controls a pod, or did so last, by the pod's UID
	holds      map[string]*Hold     // by group
	writes     map[uint64]Request   // what operators wrote, by the version that came of it
	taken      map[string]taken     // by group: since when the hold names whom it names
	notedAt    map[string]uint64    // by the pod's UID: version of the Lease that began to note it
	notedIn    map[string]uint64    // by group: version of the Lease that began to note its decrease
	writers    map[string][]writer  // by group: who wrote its Lease
	homes      []heard
	down       map[place]outage
	asked      map[place]time.Time   // since when a pod is asked for there
	shrinking  map[string]*shrinkage // by the zone's name: its last decrease that took something down
	seen       map[string]time.Time  // when pods were told of first, by UID
	judged     map[string]bool       // UIDs of pods that left, whoever sent them away
	takedowns  []Takedown
	violations []Violation

	unexplained []string
}

// taken is when the hold of a group was taken, and by whom; empty: not known.
type taken struct {
	at time.Time
	by string
}

// writer is who made a version of a Lease; empty: not known.
type writer struct {
	version uint64
	agent   string
}

// place is where a pod should be.
type place struct {
	zone    string // its name
	ordinal int
}

// outage says since when no pod is available in a place, and what began it.
type outage struct {
	since time.Time
	of    resource // what shows it
	takenDown
	until time.Time // when the pod there will have been Ready for long enough; zero: it is not Ready
	noted uint64    // version of the Lease that began to note the pod that left; 0: none did

	// former is the outage that would have been over by its until, had the pod not fallen
	// again by itself: who could not know of that is bound by it all the same.
	former *outage
}

// takenDown says how a pod was taken down, and in which group.
type takenDown struct {
	by    deed
	group string
}

// deed is how a pod was taken down.
type deed int

const (
	notOurs deed = iota
	deleted      // by an operator
	evicted      // where evictions are judged
)

func (d deed) String() string { return [...]string{"left", "deleted", "evicted"}[d] }

// broken reports whether a pod that was Ready, and not for long enough, is so no more, or
// anew: it is then to be so until another time, or not at all.
func (o outage) broken(until time.Time) bool {
	return !o.until.IsZero() && (until.IsZero() || until.After(o.until))
}

func (o outage) over(now time.Time) bool { return !o.until.IsZero() && !o.until.After(now) }

func newCourt(namespace string, requests []Request, rules Rules) *court {
	rules.Delays = slices.DeleteFunc(slices.Clone(rules.Delays), func(d Delay) bool { return d.refused(requests) })
	c := &court{
		Rules: rules, namespace: namespace, requests: requests,
		departures: map[string][]Request{},
		pods:       map[string]*Pod{}, zones: map[string][]dated{}, nameOf: map[string]string{}, owners: map[string]string{}, holds: map[string]*Hold{},
		writes: map[uint64]Request{}, taken: map[string]taken{}, notedAt: map[string]uint64{}, notedIn: map[string]uint64{}, writers: map[string][]writer{},
		down: map[place]outage{}, asked: map[place]time.Time{}, shrinking: map[string]*shrinkage{}, seen: map[string]time.Time{}, judged: map[string]bool{},
	}
	for _, r := range requests {
		_, isOurs := c.operator(r.User)
		if isOurs && r.Writes() && r.succeeded() && r.Version > 0 {
			c.writes[r.Version] = r
		}
		if d := r.slow(); isOurs && !c.Strict && d.To.Sub(d.From) > c.Grace {
			c.Delays = append(c.Delays, d)
		}
		if (r.deletesPod() || r.evictsPod()) && r.mayHaveSucceeded() {
			c.departures[r.Name] = append(c.departures[r.Name], r)
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
		c.seeHold(f)
	case f.Home != nil:
		c.homes = append(c.homes, heard{f.At, f.Home})
	case f.Zone != nil:
		c.seeZone(f)
	case f.Pod != nil:
		c.seePod(f)
	}
}

// seeHold takes a Lease in. Who names a zone for a rollout or an eviction in it has
// looked live before.
func (c *court) seeHold(f Fact) {
	group := f.Hold.Group
	wrote := c.writes[f.Version]
	c.writers[group] = append(c.writers[group], writer{f.Version, wrote.Agent})
	if before := c.holds[group]; before == nil || before.Gone || before.Holder != f.Hold.Holder {
		c.taken[group] = taken{f.At, wrote.Agent}
		if !wrote.At.IsZero() {
			c.taken[group] = taken{wrote.At, wrote.Agent}
		}
	}
	if before := c.holds[group]; before == nil || before.Shrinks != f.Hold.Shrinks {
		c.notedIn[group] = f.Version
	}
	for _, n := range f.Hold.Notes {
		if before := c.holds[group]; before == nil || !slices.ContainsFunc(before.Notes, func(b Note) bool { return b.UID == n.UID }) {
			c.notedAt[n.UID] = f.Version
		}
	}
	c.holds[group] = f.Hold
}

// operations are what lockstep's own holders begin with.
var operations = []string{"rollout/", "downscale/", "eviction/"}

// looked is when the hold of a group was taken after a live look; zero: it was not, or
// that is not the look on which a deed rests. Who takes it has looked when the write was
// sent; who goes on with it looks when it sees the write.
func (c *court) looked(group string, k knowledge) time.Time {
	h := c.holds[group]
	if h == nil || h.Gone || !slices.ContainsFunc(operations, func(o string) bool { return strings.HasPrefix(h.Holder, o) }) {
		return time.Time{}
	}
	t := c.taken[group]
	at := t.at
	if binds(t.by, k.agent) {
		at = c.decided(at, t.by, group, ofHoldAtAll, beforeHold, ofLook)
	}
	if at.After(k.decided) {
		return time.Time{}
	}
	return at
}

func (c *court) seePod(f Fact) {
	p := f.Pod
	if c.seen[p.UID].IsZero() {
		c.seen[p.UID] = f.At
	}
	if c.nameOf[p.Owner] != "" {
		c.owners[p.UID] = p.Owner
	}
	zone, ordinal, _ := ordinalOf(p.Name)
	c.settle(zone, f.At)
	taken := takenDown{}
	if (p.Leaving || p.Gone) && !c.judged[p.UID] {
		c.judged[p.UID] = true
		taken = c.tryDeparture(f)
	}
	c.shrunk(p)
	if known := c.pods[p.Name]; p.Gone && known != nil && known.UID != p.UID {
		return // the end of an earlier pod of this name
	}
	c.pods[p.Name] = p
	if states := c.zones[zone]; len(states) > 0 && last(states).counted() {
		if c.parent(p) != zone {
			taken = takenDown{}
		}
		c.survey(last(states).Zone, ordinal, f.At, pods, taken)
	}
	c.settle(zone, f.At)
}

// surveyZone brings the outages of a zone up to date after it was changed. Those of one whose
// StatefulSet was deleted go on while its pods exist.
func (c *court) surveyZone(z *Zone, now time.Time) {
	beyond := func(at place) bool { return at.zone == z.Name && !z.asksFor(at.ordinal) }
	maps.DeleteFunc(c.down, func(at place, _ outage) bool { return beyond(at) })
	maps.DeleteFunc(c.asked, func(at place, _ time.Time) bool { return beyond(at) })
	for n := range z.Replicas {
		at := place{z.Name, z.Start + n}
		if _, before := c.asked[at]; !before {
			c.asked[at] = now
		}
		c.survey(z, at.ordinal, now, statefulSets, takenDown{})
	}
}

// survey brings the outage of one place up to date after something of a resource was told.
// Taken tells how what was there was just taken down.
func (c *court) survey(z *Zone, ordinal int, now time.Time, of resource, taken takenDown) {
	if !z.asksFor(ordinal) {
		return
	}
	at, p := place{z.Name, ordinal}, c.pods[podName(z.Name, ordinal)]
	if p != nil && p.Owner != z.UID && !(z.Gone && c.parent(p) == z.Name) {
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
	if before := out; !known || before.over(now) || before.broken(until) {
		out = outage{since: now, of: of, takenDown: taken}
		if p != nil {
			out.noted = c.notedAt[p.UID]
		}
		if before.broken(until) {
			out.former = &before
		}
	}
	out.until = until
	c.down[at] = out
}

// counts reports whether an operator had to know of an outage, which it does at once of one
// that somebody was allowed in the same group.
func (c *court) counts(at place, out outage, k knowledge) bool {
	switch {
	case out.over(k.now):
		return false
	case out.by != notOurs && out.group == k.group, c.showed(at, out, k):
		return true
	}
	return out.former != nil && c.counts(at, *out.former, k)
}

// showed reports whether what an operator had to know shows an outage. No pod shows one in a
// place for which nobody is known to ask.
func (c *court) showed(at place, out outage, k knowledge) bool {
	return c.knew(k, out.since, out.of) && (out.of == statefulSets || c.knew(k, c.asked[at], statefulSets))
}
