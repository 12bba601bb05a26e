package sim

import (
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// memory is the knowledge that an operator has reported to internal/lock/freshness and that its
// caches may not show yet.
type memory struct {
	podWrites   [maxSlots]uint8 // versions of the pods that it deleted or updated
	zoneWrites  [maxZones]uint8 // new versions of the zones that it wrote
	hasLiveRead bool
	pods        podVersions // in the last live read
	zones       [maxZones]uint8
}

// podVersions is the part of a view of pods that freshness uses.
type podVersions [maxSlots]podVersion

// podVersion is the version of a pod name, and whether the pod exists.
type podVersion struct {
	version uint8
	exists  bool
}

func (p *pods) versions() (all podVersions) {
	for slot := range p {
		all[slot] = podVersion{p[slot].version, p[slot].exists()}
	}
	return all
}

func (z *zones) versions() (all [maxZones]uint8) {
	for n := range z {
		all[n] = z[n].version
	}
	return all
}

// freshnessInput is the complete input of an answer of internal/lock/freshness.
type freshnessInput struct {
	pods  podVersions
	zones [maxZones]uint8
	known memory
}

// cachesMiss reports whether the operator's caches lack something that is known, by the real rule
// of freshness. It caches the answers.
func (e *explorer) cachesMiss(o *operator, known memory) bool {
	if known == (memory{}) {
		return false
	}
	q := freshnessInput{o.pods.versions(), o.zones.versions(), known}
	missing, ok := e.freshnessAnswers[q]
	if !ok {
		missing = q.missing(e.config)
		e.freshnessAnswers[q] = missing
	}
	return missing
}

func (q *freshnessInput) missing(c Config) bool {
	var known freshness.Known
	for slot, version := range q.known.podWrites {
		if version > 0 {
			known.PodMoved(podNames[slot], q.ofPod(slot, version))
		}
	}
	for n, version := range q.known.zoneWrites {
		if version > 0 {
			known.ZoneWritten(zoneNames[n], q.ofZone(n, version))
		}
	}
	if q.known.hasLiveRead {
		live := q.snapshot(q.known.pods, q.known.zones, c)
		live.Live, live.PodsAt, live.ZonesAt = true, 2*versionOffset, 2*versionOffset
		known.ReadLive(live.Shown())
	}
	view := q.snapshot(q.pods, q.zones, c)
	return known.Missing(view.Shown()) != ""
}

// ofPod returns a version of a pod as a number. Comparisons of this number with the
// cached view and the live read have the same results as with one counter for all pods:
// versions in the view come first, then versions in the live read.
func (q *freshnessInput) ofPod(slot int, version uint8) plan.Version {
	if !q.known.hasLiveRead {
		return offsetVersion(version, q.pods[slot].version)
	}
	return offsetVersion(version, q.pods[slot].version, q.known.pods[slot].version)
}

func (q *freshnessInput) ofZone(n int, version uint8) plan.Version {
	if !q.known.hasLiveRead {
		return offsetVersion(version, q.zones[n])
	}
	return offsetVersion(version, q.zones[n], q.known.zones[n])
}

// versionOffset lies between the versions that a view includes and all later ones.
const versionOffset = 1000

// offsetVersion returns the version as a number. It adds versionOffset for each of the views,
// oldest first, that does not include it.
func offsetVersion(version uint8, views ...uint8) plan.Version {
	number := plan.Version(version)
	for _, view := range views {
		if version > view {
			number += versionOffset
		}
	}
	return number
}

func (q *freshnessInput) snapshot(seen podVersions, versions [maxZones]uint8, c Config) group.Snapshot {
	s := group.Snapshot{Key: groupKey, PodsAt: versionOffset, ZonesAt: versionOffset}
	for n := range c.Zones {
		z := group.Zone{Name: zoneNames[n], UID: zoneNames[n], Version: q.ofZone(n, versions[n])}
		for slot := n * maxPods; slot < (n+1)*maxPods; slot++ {
			if seen[slot].exists {
				z.Pods = append(z.Pods, plan.Pod{
					Name: podNames[slot], Ordinal: ordinalOf(slot), Version: q.ofPod(slot, seen[slot].version),
				})
			}
		}
		s.Zones = append(s.Zones, z)
	}
	return s
}

// forget drops entries that no longer matter: the parts of a live read and the single writes that
// the caches show, and all entries once the caches lack nothing. It keeps each write of this
// process that the caches do not show, whatever the real rule says, because the judge needs it.
func (e *explorer) forget(o *operator) {
	if o.memory == (memory{}) {
		return
	}
	o.raiseLiveRead()
	nothingMissing := !e.cachesMiss(o, o.memory)
	if nothingMissing {
		o.memory.hasLiveRead, o.memory.pods, o.memory.zones = false, podVersions{}, [maxZones]uint8{}
	}
	for slot, version := range o.memory.podWrites {
		only := memory{}
		only.podWrites[slot] = version
		if version < o.pods[slot].version && (nothingMissing || !e.cachesMiss(o, only)) {
			o.memory.podWrites[slot] = 0
		}
	}
	for n, version := range o.memory.zoneWrites {
		only := memory{}
		only.zoneWrites[n] = version
		if version <= o.zones[n].version && (nothingMissing || !e.cachesMiss(o, only)) {
			o.memory.zoneWrites[n] = 0
		}
	}
}

// raiseLiveRead advances the live read to the versions that the caches show by now, as if it had
// been later. Views never go back, so a version that they have included once is never missing
// again.
func (o *operator) raiseLiveRead() {
	m := &o.memory
	if !m.hasLiveRead {
		return
	}
	for slot := range o.pods {
		if shown := (podVersion{o.pods[slot].version, o.pods[slot].exists()}); shown.version >= m.pods[slot].version {
			m.pods[slot] = shown
		}
	}
	for n := range o.zones {
		m.zones[n] = max(m.zones[n], o.zones[n].version)
	}
}

// repeats reports whether the sender knows that the request was already carried out, but has not
// seen its effect.
func (m *memory) repeats(s step) bool {
	switch s.kind {
	case stepUpdatePod, stepDeletePod:
		return m.podWrites[s.target] > 0 && s.version <= m.podWrites[s.target]
	case stepAdoptRevision, stepUpdateZone, stepSetReplicas:
		return s.version < m.zoneWrites[s.target]
	case stepWriteLease:
	}
	return false
}
