package telemetry

import "time"

// collect creates the series of this group.
func (g *GroupMetrics) collect(s *series) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.begin(g.key, g.born)
	if g.forgotten {
		return
	}
	g.collectCounts(s)
	if g.seen {
		g.collectState(s)
	}
}

func (g *GroupMetrics) collectCounts(s *series) {
	for _, t := range g.reconciles {
		s.count(g.of.reconciles, t.n, t.a)
	}
	s.tallies(g.of.deleted, g.deleted)
	for _, t := range g.overwrites {
		s.count(g.of.overwrites, t.n, t.a)
	}
	s.tallies(g.of.refusals, g.refusals)
	s.tallies(g.of.calls, g.calls)
	s.histogram(g.of.duration, &g.duration)
	s.histogram(g.of.step, &g.step)
	s.histogram(g.of.zoneRollout, &g.zoneRollout)
	s.histogram(g.of.rollout, &g.rollout)
	if len(g.reconciles) > 0 {
		s.gauge(g.of.lastSuccess, g.inOrderUntil(s.followed))
	}
}

// inOrderUntil returns the Unix time until which the group was in order, given the time until which
// the caches have followed the cluster. It returns 0 if no reconcile has succeeded.
func (g *GroupMetrics) inOrderUntil(followed time.Time) float64 {
	switch {
	case g.lastSuccess.IsZero():
		return 0
	case g.fails && g.lastSuccess.Before(followed):
		return unix(g.lastSuccess)
	}
	return unix(followed)
}

func (g *GroupMetrics) collectState(s *series) {
	for _, z := range g.shown.Zones {
		g.of.collectZone(s, z)
	}
	s.flags(g.of.waiting, "", g.shown.Waiting)
	g.of.hold.collect(s, g.shown.Hold)
}

func (d *groupDescs) collectZone(s *series, z ZoneState) {
	s.gauge(d.pods, float64(z.Desired), z.Name, "desired")
	s.gauge(d.pods, float64(z.Ready), z.Name, "ready")
	s.gauge(d.pods, float64(z.Updated), z.Name, "updated")
	s.gauge(d.pods, float64(z.Outdated), z.Name, "outdated")
	s.gauge(d.pods, float64(z.Down), z.Name, "down")
	s.gauge(d.pods, float64(z.Noted), z.Name, "noted")
	s.gauge(d.budget, float64(z.Budget), z.Name)
	s.gauge(d.activity, 1, z.Name, z.Activity)
	s.gauge(d.activeSince, unix(z.Since), z.Name)
	s.flags(d.waiting, z.Name, z.Waiting)
	s.flags(d.remarks, z.Name, z.Remarks)
}
