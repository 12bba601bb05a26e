package main

import "time"

// measures are the times and counts in the table.
type measures struct {
	began    time.Time // of the rollout
	finished time.Time // when the last namespace was finished
	handOver time.Duration
	zones    map[zoneKey]*zoneMeasure
	last     map[string]time.Time // by namespace: when a pod last became ready
}

type zoneKey struct{ namespace, zone string }

// zoneMeasure is the measures of one zone. Its times are those of watch events.
type zoneMeasure struct {
	first    time.Time // the first pod was deleted
	ready    time.Time // the last replacement so far became ready
	done     time.Time // all pods are updated and ready, and the revision is adopted
	gap      time.Duration
	gapCount int // number of gaps, of which gap is the longest
	maxDown  int
}

func newMeasures(began time.Time) *measures {
	return &measures{began: began, zones: map[zoneKey]*zoneMeasure{}, last: map[string]time.Time{}}
}

// add records one change of the state. It returns the zones that it finished.
func (m *measures) add(w *clusterState, at time.Time, changes []change) []zoneKey {
	for _, c := range changes {
		switch c.kind {
		case podTerminating:
			m.addDeletion(c)
		case podReady:
			m.zone(c.namespace, c.zone).ready = c.at
			m.last[c.namespace] = c.at
		case podCreated, podDeleted, podUnready, revisionAdopted, holderChanged:
		}
	}
	var done []zoneKey
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			measure := m.zone(n.name, z.name)
			measure.maxDown = max(measure.maxDown, len(z.unavailable()))
			if measure.done.IsZero() && z.finished() {
				measure.done = at
				done = append(done, zoneKey{n.name, z.name})
			}
		}
	}
	if m.finished.IsZero() && w.finished() {
		m.finished = at
	}
	return done
}

func (m *measures) addDeletion(c change) {
	z := m.zone(c.namespace, c.zone)
	switch {
	case z.first.IsZero():
		z.first = c.at
		if last := m.last[c.namespace]; !last.IsZero() {
			m.handOver = max(m.handOver, c.at.Sub(last))
		}
	case !z.ready.IsZero():
		z.gap = max(z.gap, c.at.Sub(z.ready))
		z.gapCount++
	}
}

// took returns the time from the first deletion in a zone until its last replacement was ready.
func (z *zoneMeasure) took() time.Duration {
	if z.first.IsZero() || z.ready.Before(z.first) {
		return 0
	}
	return z.ready.Sub(z.first)
}

func (m *measures) zone(namespace, zone string) *zoneMeasure {
	key := zoneKey{namespace, zone}
	if m.zones[key] == nil {
		m.zones[key] = &zoneMeasure{}
	}
	return m.zones[key]
}
