package sim

import (
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// memory is what an operator reports to internal/lock/freshness, as long as it matters.
type memory struct {
	moved   [maxSlots]uint8 // versions of the pods that it deleted or touched
	written [maxZones]uint8 // new versions of the zones that it wrote
	looked  bool
	pods    sights // what the last live read showed
	zones   [maxZones]uint8
}

// sights is everything in a view of pods that freshness can use.
type sights [maxSlots]sight

// sight is the version of a pod name, and whether the pod exists.
type sight struct {
	version uint8
	there   bool
}

func (p *pods) sights() (all sights) {
	for slot := range p {
		all[slot] = sight{p[slot].version, p[slot].exists()}
	}
	return all
}

func (z *zones) versions() (all [maxZones]uint8) {
	for n := range z {
		all[n] = z[n].version
	}
	return all
}

// question is a question to internal/lock/freshness, with everything that the answer
// depends on.
type question struct {
	pods  sights
	zones [maxZones]uint8
	known memory
}

// misses asks the real rule whether the operator's caches lack something that is known.
// It caches the answers.
func (e *explorer) misses(o *operator, known memory) bool {
	if known == (memory{}) {
		return false
	}
	q := question{o.pods.sights(), o.zones.versions(), known}
	missing, ok := e.answers[q]
	if !ok {
		missing = q.missing(e.config)
		e.answers[q] = missing
	}
	return missing
}

func (q *question) missing(c Config) bool {
	var known freshness.Known
	for slot, version := range q.known.moved {
		if version > 0 {
			known.PodMoved(podNames[slot], q.ofPod(slot, version))
		}
	}
	for n, version := range q.known.written {
		if version > 0 {
			known.ZoneWritten(zoneNames[n], q.ofZone(n, version))
		}
	}
	if q.known.looked {
		look := q.snapshot(q.known.pods, q.known.zones, c)
		look.Live, look.PodsAt, look.ZonesAt = true, 2*unseen, 2*unseen
		known.ReadLive(look.Shown())
	}
	view := q.snapshot(q.pods, q.zones, c)
	return known.Missing(view.Shown()) != ""
}

// ofPod returns a version of a pod as a number. Comparisons of that number with the
// cached view and the live read have the same results as with one counter for all pods:
// versions in the view come first, then versions in the live read.
func (q *question) ofPod(slot int, version uint8) plan.Version {
	if !q.known.looked {
		return numbered(version, q.pods[slot].version)
	}
	return numbered(version, q.pods[slot].version, q.known.pods[slot].version)
}

func (q *question) ofZone(n int, version uint8) plan.Version {
	if !q.known.looked {
		return numbered(version, q.zones[n])
	}
	return numbered(version, q.zones[n], q.known.zones[n])
}

// unseen lies between the versions that a view includes and all later ones.
const unseen = 1000

// numbered returns the version as a number. It adds unseen for each of the views, oldest
// first, that does not include it.
func numbered(version uint8, views ...uint8) plan.Version {
	number := plan.Version(version)
	for _, view := range views {
		if version > view {
			number += unseen
		}
	}
	return number
}

func (q *question) snapshot(seen sights, versions [maxZones]uint8, c Config) group.Snapshot {
	s := group.Snapshot{Key: groupKey, PodsAt: unseen, ZonesAt: unseen}
	for n := range c.Zones {
		z := group.Zone{Name: zoneNames[n], UID: zoneNames[n], Version: q.ofZone(n, versions[n])}
		for slot := n * maxPods; slot < (n+1)*maxPods; slot++ {
			if seen[slot].there {
				z.Pods = append(z.Pods, plan.Pod{
					Name: podNames[slot], Ordinal: ordinalOf(slot), Version: q.ofPod(slot, seen[slot].version),
				})
			}
		}
		s.Zones = append(s.Zones, z)
	}
	return s
}

// recall drops entries that no longer matter: the parts of a live read and the single
// writes that the caches show, and everything once nothing is missing. If the caches do
// not show a write of this process, recall keeps it, whatever the rule says, for the
// judge.
func (e *explorer) recall(o *operator) {
	if o.memory == (memory{}) {
		return
	}
	o.raiseLook()
	nothingMissing := !e.misses(o, o.memory)
	if nothingMissing {
		o.memory.looked, o.memory.pods, o.memory.zones = false, sights{}, [maxZones]uint8{}
	}
	for slot, version := range o.memory.moved {
		only := memory{}
		only.moved[slot] = version
		if version < o.pods[slot].version && (nothingMissing || !e.misses(o, only)) {
			o.memory.moved[slot] = 0
		}
	}
	for n, version := range o.memory.written {
		only := memory{}
		only.written[n] = version
		if version <= o.zones[n].version && (nothingMissing || !e.misses(o, only)) {
			o.memory.written[n] = 0
		}
	}
}

// raiseLook updates the live read to what the caches show by now, as if it had been
// later. Views never go back, so a version that they have included once is never missing
// again.
func (o *operator) raiseLook() {
	m := &o.memory
	if !m.looked {
		return
	}
	for slot := range o.pods {
		if shown := (sight{o.pods[slot].version, o.pods[slot].exists()}); shown.version >= m.pods[slot].version {
			m.pods[slot] = shown
		}
	}
	for n := range o.zones {
		m.zones[n] = max(m.zones[n], o.zones[n].version)
	}
}

// repeats reports whether the sender knows that the request was already carried out, and
// has not seen its effect.
func (m *memory) repeats(s step) bool {
	switch s.kind {
	case touch, remove:
		return m.moved[s.target] > 0 && s.version <= m.moved[s.target]
	case adopt, void, size:
		return s.version < m.written[s.target]
	case write:
	}
	return false
}
