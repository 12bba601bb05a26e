package operator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/serve/server"
)

// operations returns the options of the listener for people, probes and Prometheus.
func (o *Operator) operations() server.Options {
	ready := []server.Check{{Name: "caches", Probe: o.cachesFilled}, {Name: "permissions", Probe: o.permissionsGranted}, {Name: "budgets", Probe: o.budgetsKnown}, {Name: "history", Probe: o.clusterContinues}}
	if o.webhooks != nil {
		ready = append(ready, server.Check{Name: "certificate", Probe: o.webhooks.served})
	}
	return server.Options{
		Port:    o.config.Server.Port,
		Log:     o.log,
		Metrics: o.metrics.Handler(o.log),
		Ready:   ready,
		Healthy: []server.Check{{Name: "reconciles", Probe: o.underway.check}},
		Config:  http.HandlerFunc(o.showConfig),
		Groups:  http.HandlerFunc(o.showGroups),
	}
}

func (o *Operator) cachesFilled() error {
	if !o.observer.Synced() {
		return errors.New("the caches are not filled yet: see the log for requests that the API server refuses")
	}
	return nil
}

// permissionsGranted names missing permissions. The process stays Ready, because other replicas
// have the same permissions, and most groups may not need the missing ones.
func (o *Operator) permissionsGranted() error { return server.Tolerable(o.access.Missing()) }

func (o *Operator) showConfig(w http.ResponseWriter, _ *http.Request) {
	o.writeJSON(w, o.config.Settings())
}

// showGroups lists the reconciled groups. For a single group, it shows the last plan and its
// snapshot; if the group rests, it shows the state in the caches. Only the leader has groups.
func (o *Operator) showGroups(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("namespace") == "" {
		keys := o.reporter.Keys()
		slices.SortFunc(keys, func(a, b plan.Key) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		o.writeJSON(w, keys)
		return
	}
	key := plan.KeyOf(r.PathValue("namespace"), r.PathValue("group"))
	last, ok := o.reporter.Last(key)
	if !ok {
		http.Error(w, "this process has not evaluated that group; ask the replica that leads", http.StatusNotFound)
		return
	}
	if last.Rests() {
		last.Snapshot = new(o.observer.Cached(key))
	}
	o.writeJSON(w, last)
}

func (o *Operator) writeJSON(w http.ResponseWriter, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // a time that a user wrote may be out of range for JSON
		http.Error(w, "this cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(append(text, '\n')); err != nil {
		o.log.WithError(err).Debug("debug answer was cut short")
	}
}

// underway records which reconciles have begun and not ended.
type underway struct {
	mu    sync.Mutex
	since map[plan.Key]time.Time
}

// tooLong is longer than a reconcile may take: a live read takes at most a minute, and the
// actions at most another minute.
const tooLong = 3 * time.Minute

func (u *underway) begin(key plan.Key) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since == nil {
		u.since = map[plan.Key]time.Time{}
	}
	u.since[key] = time.Now()
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.since, key)
	}
}

// check returns an error if a reconcile does not end.
func (u *underway) check() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, since := range u.since {
		if took := time.Since(since); took > tooLong {
			return fmt.Errorf("the reconcile of %s is under way for %s", key, took.Round(time.Second))
		}
	}
	return nil
}
