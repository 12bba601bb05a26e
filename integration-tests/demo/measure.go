package main

import "time"

// measures are the times and counts that the table shows.
type measures struct {
	began    time.Time // of the rollout
	finished time.Time // when the last namespace was
	handOver time.Duration
	zones    map[zoneKey]*zoneMeasure
	last     map[string]time.Time // by namespace: when a pod last became Ready
}

type zoneKey struct{ namespace, zone string }

// zoneMeasure is about one zone. Times are those at which the watch told us.
type zoneMeasure struct {
	first    time.Time // the first pod was deleted
	ready    time.Time // the last replacement so far became Ready
	done     time.Time // all pods are new and Ready, and the revision is adopted
	gap      time.Duration
	gaps     int // that gap is the longest of
	mostDown int
}

func newMeasures(began time.Time) *measures {
	return &measures{began: began, zones: map[zoneKey]*zoneMeasure{}, last: map[string]time.Time{}}
}

// see measures one sighting that the world has taken in. It returns the zones that
// were finished by it.
func (m *measures) see(w *world, at time.Time, changes []change) []zoneKey {
	for _, c := range changes {
		switch c.deed {
		case taken:
			m.seeTaken(c)
		case becameReady:
			m.zone(c.namespace, c.zone).ready = c.at
			m.last[c.namespace] = c.at
		case created, gone, becameUnready, adopted, held:
		}
	}
	var done []zoneKey
	for _, n := range w.namespaces {
		for _, z := range n.zones {
			mine := m.zone(n.name, z.name)
			mine.mostDown = max(mine.mostDown, len(z.down()))
			if mine.done.IsZero() && z.finished() {
				mine.done = at
				done = append(done, zoneKey{n.name, z.name})
			}
		}
	}
	if m.finished.IsZero() && w.finished() {
		m.finished = at
	}
	return done
}

func (m *measures) seeTaken(c change) {
	z := m.zone(c.namespace, c.zone)
	switch {
	case z.first.IsZero():
		z.first = c.at
		if last := m.last[c.namespace]; !last.IsZero() {
			m.handOver = max(m.handOver, c.at.Sub(last))
		}
	case !z.ready.IsZero():
		z.gap = max(z.gap, c.at.Sub(z.ready))
		z.gaps++
	}
}

// took is from a zone's first delete to its last replacement's Ready.
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
