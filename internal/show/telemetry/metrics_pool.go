package telemetry

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// poolMetrics are the metrics of StatefulClusters. Their labels are namespace and name; no pod, identity or claim is a
// label.
type poolMetrics struct {
	poolDescs

	mu    sync.Mutex
	known map[poolKey]*PoolMetrics
	born  time.Time

	hole, inPlace histogram // of all StatefulClusters
}

type poolKey struct{ namespace, name string }

func newPoolMetrics() *poolMetrics {
	return &poolMetrics{poolDescs: newPoolDescs(), known: map[poolKey]*PoolMetrics{}, born: time.Now()}
}

func (m *poolMetrics) all() []prometheus.Collector { return []prometheus.Collector{m} }

// poolDescs are the descriptions of the metrics of StatefulClusters.
type poolDescs struct {
	reconciles  *prometheus.Desc
	desired     *prometheus.Desc
	replicas    *prometheus.Desc
	unavailable *prometheus.Desc
	waiting     *prometheus.Desc
	births      *prometheus.Desc
	handovers   *prometheus.Desc
	updates     *prometheus.Desc
	deleted     *prometheus.Desc
	retirements *prometheus.Desc
	retired     *prometheus.Desc
	claimsGone  *prometheus.Desc
	refused     *prometheus.Desc
	claimsLost  *prometheus.Desc
	crashLoop   *prometheus.Desc

	holeDuration, inPlaceDuration histogramDesc
}

func poolDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("lockstep_statefulcluster_"+name, help, append([]string{"namespace", "name"}, more...), nil)
}

func newPoolDescs() poolDescs {
	return poolDescs{
		reconciles:  poolDesc("reconciles_total", "Reconciles of the StatefulCluster by result.", "result"),
		desired:     poolDesc("desired", "Pods that spec.replicas asks for."),
		replicas:    poolDesc("replicas", "Pods by state: active; of these ready, available, updated (at the update revision) and outdated (to be updated); terminating.", "state"),
		unavailable: poolDesc("unavailable", "Pods that are asked for and not available."),
		waiting:     poolDesc("waiting", "1 while the StatefulCluster waits for this reason.", "reason"),
		births:      poolDesc("births_total", "Pods of new identities that lockstep created."),
		handovers:   poolDesc("handovers_total", "Pods that lockstep created with the claims of a former pod of the same name."),
		updates:     poolDesc("inplace_updates_total", "Updates of pods in place that have ended, by outcome: completed; corrected, handover or replaced (before the pod was available, lockstep gave it a newer template, handed its identity over, or gave its identity up); lost (the pod ended without lockstep, or left the StatefulCluster); withdrawn (the update became impossible, so the pod runs as before).", "outcome"),
		deleted:     poolDesc("pods_deleted_total", "Pods that lockstep deleted, by reason.", "reason"),
		retirements: poolDesc("retirements_total", "Identities that ended and left claims, by reason.", "reason"),
		retired:     poolDesc("retired_claims", "Claims of identities that have ended."),
		claimsGone:  poolDesc("claims_deleted_total", "Claims of ended identities that lockstep deleted, by the field of spec.persistentVolumeClaimRetentionPolicy that says so: whenScaled, whenReplaced, retiredTTLSeconds or retiredLimit. Claims that Kubernetes or a person deletes do not count.", "policy"),
		refused:     poolDesc("births_refused_total", "Attempts to create pods or their claims that the API server refused, for example because of a quota."),
		claimsLost:  poolDesc("claims_lost_total", "Pods that lockstep replaced because a claim that they used was deleted."),
		crashLoop:   poolDesc("crash_loop_expiry_timestamp_seconds", "Unix time at which lockstep gives up the first identity whose pod is in a crash loop, unless the pod becomes Ready before."),
		holeDuration: histogramDesc{
			prometheus.NewDesc("lockstep_statefulcluster_hole_seconds", "Time from the first plan that found a pod missing until as many pods as asked for were available, of all StatefulClusters.", nil, nil),
			[]float64{1, 5, 15, 30, 60, 120, 300, 900, 3600},
		},
		inPlaceDuration: histogramDesc{
			prometheus.NewDesc("lockstep_statefulcluster_inplace_seconds", "Time from the record of an update of a pod in place until the pod was available, of all StatefulClusters.", nil, nil),
			[]float64{1, 5, 15, 30, 60, 120, 300, 900, 3600},
		},
	}
}

// Describe implements prometheus.Collector.
func (d poolDescs) Describe(into chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{
		d.reconciles, d.desired, d.replicas, d.unavailable, d.waiting, d.births, d.handovers, d.updates, d.deleted, d.retirements, d.retired, d.claimsGone, d.refused, d.claimsLost, d.crashLoop,
		d.holeDuration.Desc, d.inPlaceDuration.Desc,
	} {
		into <- one
	}
}

// Collect implements prometheus.Collector. Without a StatefulCluster there is no series.
func (m *poolMetrics) Collect(into chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(m.known), comparePools) {
		m.known[key].collect(into)
	}
	m.collectDurations(&m.hole, m.holeDuration, into)
	m.collectDurations(&m.inPlace, m.inPlaceDuration, into)
}

// collectDurations collects a histogram of all StatefulClusters.
func (m *poolMetrics) collectDurations(h *histogram, desc histogramDesc, into chan<- prometheus.Metric) {
	if !h.begun {
		return
	}
	metric, err := h.metric(desc, m.born, nil)
	if err != nil {
		metric = prometheus.NewInvalidMetric(desc.Desc, err)
	}
	into <- metric
}

func comparePools(a, b poolKey) int {
	return slices.Compare([]string{a.namespace, a.name}, []string{b.namespace, b.name})
}

// PoolState is the state of a StatefulCluster at one time. Reasons are codes of the catalogue.
type PoolState struct {
	At                                                       time.Time
	Desired                                                  int
	Active, Ready, Available, Updated, Outdated, Terminating int
	Waiting                                                  []string
	Missing                                                  bool // a pod that is asked for does not exist
	RetiredClaims                                            int
	CrashLoopEnds                                            time.Time // when an identity is given up because of a crash loop; zero: none is
}

// PoolMetrics are the metrics of one StatefulCluster. All methods are safe for concurrent use.
type PoolMetrics struct {
	all *poolMetrics
	key poolKey

	reconciles, deleted, retirements, updates, claimsGone tallies
	births, handovers, refused, claimsLost                uint64

	shown PoolState
	hole  time.Time // since when a pod has been missing, and not all are available; zero: none is
}

// Pool returns the metrics of a StatefulCluster.
func (m *Metrics) Pool(namespace, name string) *PoolMetrics {
	key := poolKey{namespace, name}
	m.pools.mu.Lock()
	defer m.pools.mu.Unlock()
	p, known := m.pools.known[key]
	if !known {
		p = &PoolMetrics{all: m.pools, key: key}
		m.pools.known[key] = p
	}
	return p
}

// ForgetPool deletes all series of a StatefulCluster that does not exist any more.
func (m *Metrics) ForgetPool(namespace, name string) {
	m.pools.mu.Lock()
	defer m.pools.mu.Unlock()
	delete(m.pools.known, poolKey{namespace, name})
}

// change calls a function that changes the metrics.
func (p *PoolMetrics) change(do func()) {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	do()
}

// Reconciled counts a reconcile. Results come from a fixed set.
func (p *PoolMetrics) Reconciled(result string) {
	p.change(func() { p.reconciles.add(1, result, "") })
}

// Born counts pods of new identities.
func (p *PoolMetrics) Born(pods int) { p.change(func() { p.births += uint64(max(pods, 0)) }) }

// HandedOver counts the next pod of an identity.
func (p *PoolMetrics) HandedOver() { p.change(func() { p.handovers++ }) }

// UpdateEnded counts an update of a pod in place. Outcomes come from a fixed set.
func (p *PoolMetrics) UpdateEnded(outcome string) {
	p.change(func() { p.updates.add(1, outcome, "") })
}

// UpdatedInPlace records how long the update of a pod in place took that is complete.
func (p *PoolMetrics) UpdatedInPlace(took time.Duration) {
	p.change(func() { p.all.inPlace.observe(p.all.inPlaceDuration.bounds, took, trace.SpanContext{}) })
}

// PodDeleted counts a deleted pod, by the code of the reason.
func (p *PoolMetrics) PodDeleted(reason string) {
	p.change(func() { p.deleted.add(1, reason, "") })
}

// Retired counts an identity that has ended, by the code of the reason.
func (p *PoolMetrics) Retired(reason string) {
	p.change(func() { p.retirements.add(1, reason, "") })
}

// ClaimsDeleted counts claims that lockstep deleted, by the field of the policy that says so.
func (p *PoolMetrics) ClaimsDeleted(policy string, claims int) {
	p.change(func() { p.claimsGone.add(uint64(max(claims, 0)), policy, "") })
}

// BirthRefused counts an attempt to create pods or claims that the API server refused.
func (p *PoolMetrics) BirthRefused() { p.change(func() { p.refused++ }) }

// ClaimsLost counts pods that were replaced because they have lost a claim.
func (p *PoolMetrics) ClaimsLost(pods int) { p.change(func() { p.claimsLost += uint64(max(pods, 0)) }) }

// Show replaces the state. A hole begins when a pod is missing, and ends when as many pods as asked for are available.
func (p *PoolMetrics) Show(state PoolState) {
	p.change(func() {
		p.shown = state
		switch {
		case state.Missing && p.hole.IsZero():
			p.hole = state.At
		case state.Available >= state.Desired && !p.hole.IsZero():
			p.all.hole.observe(p.all.holeDuration.bounds, max(state.At.Sub(p.hole), 0), trace.SpanContext{})
			p.hole = time.Time{}
		}
		p.all.hole.begun, p.all.inPlace.begun = true, true
	})
}

func (p *PoolMetrics) collect(into chan<- prometheus.Metric) {
	one := func(desc *prometheus.Desc, kind prometheus.ValueType, v float64, more ...string) {
		metric, err := prometheus.NewConstMetric(desc, kind, v, append([]string{p.key.namespace, p.key.name}, more...)...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(desc, err)
		}
		into <- metric
	}
	counts := func(desc *prometheus.Desc, all tallies) {
		for _, t := range all {
			one(desc, prometheus.CounterValue, float64(t.n), t.a)
		}
	}
	d, s := &p.all.poolDescs, &p.shown
	one(d.desired, prometheus.GaugeValue, float64(s.Desired))
	for state, n := range map[string]int{"active": s.Active, "ready": s.Ready, "available": s.Available, "updated": s.Updated, "outdated": s.Outdated, "terminating": s.Terminating} {
		one(d.replicas, prometheus.GaugeValue, float64(n), state)
	}
	one(d.unavailable, prometheus.GaugeValue, float64(max(0, s.Desired-s.Available)))
	one(d.retired, prometheus.GaugeValue, float64(s.RetiredClaims))
	for i, why := range s.Waiting {
		if !slices.Contains(s.Waiting[:i], why) {
			one(d.waiting, prometheus.GaugeValue, 1, why)
		}
	}
	one(d.births, prometheus.CounterValue, float64(p.births))
	one(d.handovers, prometheus.CounterValue, float64(p.handovers))
	one(d.refused, prometheus.CounterValue, float64(p.refused))
	one(d.claimsLost, prometheus.CounterValue, float64(p.claimsLost))
	if !s.CrashLoopEnds.IsZero() {
		one(d.crashLoop, prometheus.GaugeValue, float64(s.CrashLoopEnds.Unix()))
	}
	counts(d.reconciles, p.reconciles)
	counts(d.deleted, p.deleted)
	counts(d.retirements, p.retirements)
	counts(d.updates, p.updates)
	counts(d.claimsGone, p.claimsGone)
}
