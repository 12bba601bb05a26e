package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// cacheMetrics are the metrics of the caches. About once a minute, a watch sends the version up
// to which it has sent all changes. If no object of a kind changes, this version advances when
// etcd reports its progress, every ten minutes. If the version of a cache does not advance for
// longer, its watch is lost.
type cacheMetrics struct{ *cacheAges }

func newCacheMetrics() cacheMetrics {
	return cacheMetrics{&cacheAges{
		advanced: prometheus.NewDesc("lockstep_cache_advanced_timestamp_seconds",
			"Unix time of the last scrape that found the cache at a new resourceVersion. A working watch delivers one about every minute, in a quiet cluster at least every ten minutes.",
			[]string{"cache"}, nil),
		now: time.Now, seen: map[string]cacheAge{},
	}}
}

func (c cacheMetrics) all() []prometheus.Collector { return []prometheus.Collector{c.cacheAges} }

// ObserveCaches registers a function that returns the versions of caches by their names. A cache
// that has not been filled has no version.
func (m *Metrics) ObserveCaches(versions func() map[string]string) {
	m.caches.mu.Lock()
	defer m.caches.mu.Unlock()
	m.caches.versions = versions
}

// staleAfter is longer than the version of a cache can stay the same while its watch works. The alert
// LockstepCacheStale has the same threshold.
const staleAfter = 30 * time.Minute

// plannedFrom are the caches that a reconcile of a group reads.
var plannedFrom = []string{"pods", "statefulsets", "leases", "namespaces"}

// followed returns the time until which the caches that reconciles read have followed the cluster:
// now, or the time at which the first of them stopped. It uses the versions that the last scrape saw.
func (c *cacheAges) followed() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := c.now()
	stale := until.Add(-staleAfter)
	for _, name := range plannedFrom {
		if age, known := c.seen[name]; known && age.since.Before(stale) && age.since.Before(until) {
			until = age.since
		}
	}
	return until
}

// cacheAges compares versions at each scrape.
type cacheAges struct {
	advanced *prometheus.Desc
	now      func() time.Time

	mu       sync.Mutex
	versions func() map[string]string
	seen     map[string]cacheAge
}

type cacheAge struct {
	version string
	since   time.Time
}

// Describe implements prometheus.Collector.
func (c *cacheAges) Describe(into chan<- *prometheus.Desc) { into <- c.advanced }

// Collect implements prometheus.Collector.
func (c *cacheAges) Collect(into chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.versions == nil {
		return
	}
	for name, version := range c.versions() {
		if version == "" {
			continue
		}
		if c.seen[name].version != version {
			c.seen[name] = cacheAge{version, c.now()}
		}
		into <- prometheus.MustNewConstMetric(c.advanced, prometheus.GaugeValue, unix(c.seen[name].since), name)
	}
}
