package telemetry

import "github.com/prometheus/client_golang/prometheus"

// processMetrics are the metrics of this process.
type processMetrics struct {
	buildInfo     *prometheus.GaugeVec
	leader        prometheus.Gauge
	leaderSeen    *prometheus.GaugeVec // without leader election, it has no series
	namespaces    prometheus.Gauge
	optOuts       prometheus.Counter
	permissions   prometheus.Gauge
	traceFailures prometheus.Counter
	panics        *prometheus.CounterVec
	restores      *prometheus.CounterVec
}

func newProcessMetrics() processMetrics {
	p := processMetrics{
		buildInfo: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_build_info",
			Help: "Always 1; the labels name the version of lockstep and of Go.",
		}, []string{"version", "goversion"}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lockstep_leader",
			Help: "1 if this process is the leader, else 0; 0 also in a dry run, which plans without leadership.",
		}),
		leaderSeen: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_leader_seen_timestamp_seconds",
			Help: "Unix time at which this process last saw a renewal of the leader Lease, by itself or another process; until the first renewal, the time at which it began to watch the Lease.",
		}, nil),
		namespaces: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lockstep_namespaces_managed",
			Help: "Namespaces that opted in.",
		}),
		optOuts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lockstep_opt_outs_total",
			Help: "Namespaces that opted out after they had been managed.",
		}),
		permissions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lockstep_permissions_missing",
			Help: "Permissions that lockstep needs and does not have; /ready and the log name them.",
		}),
		traceFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lockstep_trace_export_failures_total",
			Help: "Batches of spans that lockstep could not send to the collector.",
		}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_panics_total",
			Help: "Panics that lockstep caught; each is a bug in lockstep.",
		}, []string{"loop"}),
		restores: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_restores_seen_total",
			Help: "Restores from a backup that this process detected: of the cluster (the process then exits and starts again), or of the hold of a group.",
		}, []string{"of"}),
	}
	for _, of := range []Restored{OfCluster, OfHold} {
		p.restores.WithLabelValues(string(of))
	}
	return p
}

func (p processMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{p.buildInfo, p.leader, p.leaderSeen, p.namespaces, p.optOuts, p.permissions, p.traceFailures, p.panics, p.restores}
}

// Leader sets whether this process is the leader.
func (m *Metrics) Leader(leads bool) { m.process.leader.Set(number(leads)) }

// LeaderSeen records that a leader exists now, or that this process starts to watch for one.
func (m *Metrics) LeaderSeen() { m.process.leaderSeen.WithLabelValues().SetToCurrentTime() }

// NamespacesManaged sets how many namespaces opted in.
func (m *Metrics) NamespacesManaged(n int) { m.process.namespaces.Set(float64(n)) }

// OptedOut counts a namespace that withdrew its opt-in.
func (m *Metrics) OptedOut() { m.process.optOuts.Inc() }

// PermissionsMissing sets how many permissions are not granted.
func (m *Metrics) PermissionsMissing(n int) { m.process.permissions.Set(float64(n)) }

// Loops registers the names of loops, so that their counts of panics start at zero.
func (m *Metrics) Loops(names ...string) {
	for _, name := range names {
		m.process.panics.WithLabelValues(name)
	}
}

// Restored is the kind of data that was restored from a backup.
type Restored string

// The kinds of restores.
const (
	OfCluster Restored = "cluster"
	OfHold    Restored = "hold"
)

// RestoreSeen counts a detected restore from a backup.
func (m *Metrics) RestoreSeen(of Restored) { m.process.restores.WithLabelValues(string(of)).Inc() }

// Panicked counts a panic from which the named loop has recovered.
func (m *Metrics) Panicked(loop string) { m.process.panics.WithLabelValues(loop).Inc() }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
