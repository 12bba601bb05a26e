package monitoring_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rightlyEmpty lists the panels that this test cannot fill, with the reason.
var rightlyEmpty = map[string]string{
	"Retried requests":              "client-go repeats requests that an API server in trouble refuses, and this API server has none",
	"Remaining time of crash loops": "no pod of the StatefulCluster is in a crash loop",
}

// panelQuery is one query of a panel.
type panelQuery struct{ title, expr string }

func panelQueries(t *testing.T) []panelQuery {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(repository, "manifests", "monitoring", "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	var all []panelQuery
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			all = append(all, panelQuery{p.Title, chosen(q.Expr)})
		}
	}
	if len(all) == 0 {
		t.Fatal("the dashboard has no queries")
	}
	return all
}

// Every query returns data after one rollout, one eviction and one refused downscale, so that a
// panel needs no second one.
func TestTheDashboardShowsSomethingInEveryPanel(t *testing.T) {
	needsPrograms(t)
	left := panelQueries(t)
	for title := range rightlyEmpty {
		if !slices.ContainsFunc(left, func(q panelQuery) bool { return q.title == title }) {
			t.Errorf("no panel is called %q", title)
		}
	}
	s := newScene(t)
	s.operate("http://127.0.0.1:1") // no server listens there
	p := s.scrape("")
	s.settle()
	s.causeProblems()
	s.createPool()
	c := s.caller()
	empty := func() bool {
		left = slices.DeleteFunc(left, func(q panelQuery) bool { return p.shows(q) })
		return slices.ContainsFunc(left, func(q panelQuery) bool { return rightlyEmpty[q.title] == "" })
	}

	s.roll()
	s.await("the rollout", func() error {
		c.sendAll()
		empty()
		return s.behind()
	})
	c.evict(zones[0]+"-0", func() error {
		if !p.shows(panelQuery{"the hold", `lockstep_group_hold_held{operation="eviction"}`}) {
			return errors.New("Prometheus does not know of it")
		}
		empty()
		return nil
	})
	for deadline := time.Now().Add(patience); empty() && time.Now().Before(deadline); {
		c.sendAll()
		c.scaleDownForGood(zones[1])
		s.changePool()
	}
	for _, q := range left {
		if rightlyEmpty[q.title] == "" {
			t.Errorf("%s is empty: %s", q.title, q.expr)
		}
	}
	p.agrees(s.image)
}

// shows reports whether a query returns data.
func (p *prometheus) shows(q panelQuery) bool {
	p.Helper()
	found, err := p.query(q.expr)
	if err != nil {
		p.Fatalf("%s: %s: %v", q.title, q.expr, err)
	}
	return len(found) > 0
}

// agrees compares the values in Prometheus with the actions of the test.
func (p *prometheus) agrees(rollouts int) {
	p.Helper()
	pods := len(zones) * podsEach
	about := fmt.Sprintf(`{namespace=%q, group=%q}`, namespace, group)
	for expr, want := range map[string]float64{
		`sum(lockstep_group_zone_pods{state="updated"})`:                       float64(pods),
		`sum(lockstep_group_zone_pods{state="ready"})`:                         float64(pods),
		`count(lockstep_group_zone_activity{activity="Settled"})`:              float64(len(zones)),
		`sum(lockstep_group_pods_deleted_total` + about + `)`:                  float64(pods * rollouts),
		`sum(lockstep_group_step_duration_seconds_count` + about + `)`:         float64(pods * rollouts),
		`sum(lockstep_group_zone_rollout_duration_seconds_count` + about + `)`: float64(len(zones) * rollouts),
		`sum(lockstep_group_rollout_duration_seconds_count` + about + `)`:      float64(rollouts),
		`count(lockstep_group_hold_held) or vector(0)`:                         0,
		`count(lockstep_group_zone_waiting) or vector(0)`:                      0,
		`count(lockstep_budget_invalid)`:                                       1,
		`count(lockstep_cache_advanced_timestamp_seconds{cache=~"zoneawarepoddisruptionbudgets|secrets|(validating|mutating)webhookconfigurations"})`: 4,
		`sum(lockstep_group_refusals_total` + about + `) > bool 0`:                                                                                    1,
		`sum(lockstep_group_pod_calls_total` + about + `) > bool 0`:                                                                                   1,
		`time() - max(lockstep_leader_seen_timestamp_seconds) < bool 30`:                                                                              1,
		`sum(lockstep_leader)`: 1,
		`sum(lockstep_statefulcluster_births_total) - sum(lockstep_statefulcluster_retirements_total)`:                                   podsOfPool,
		`sum(lockstep_statefulcluster_inplace_updates_total{outcome="completed"}) > bool 0`:                                              1,
		`sum(lockstep_statefulcluster_inplace_updates_total{outcome="completed"}) - sum(lockstep_statefulcluster_inplace_seconds_count)`: 0,
		`sum(lockstep_statefulcluster_claims_deleted_total{policy="whenReplaced"}) > bool 0`:                                             1,
		`sum by (rollout_group) (rollout_operator_group_reconciles_total) > bool 0`:                                                      1,
		`count(rollout_operator_request_duration_seconds_bucket{route="admission_no_downscale", le="+Inf"})`:                             1,
		`count(rollout_operator_zpdb_eviction_requests_total) > bool 0`:                                                                  1,
		`count(count by (path) (rollout_operator_kubernetes_api_client_request_duration_seconds_count)) > bool 3`:                        1,
		`count(rollout_operator_last_successful_group_reconcile_timestamp_seconds{rollout_group="` + group + `"})`:                       1,
	} {
		p.await(expr, func() error {
			found, err := p.query(expr)
			if err != nil {
				return err
			}
			if len(found) != 1 || found[0].value != want {
				return fmt.Errorf("%v, want %v", found, want)
			}
			return nil
		})
	}
	for _, name := range []string{"lockstep_admission_duration_seconds_bucket", "lockstep_group_reconcile_duration_seconds_bucket"} {
		if n, err := p.exemplars(name); err != nil || n == 0 {
			p.Errorf("%s has %d exemplars with a trace: %v", name, n, err)
		}
	}
	if mean, err := p.query(`sum(lockstep_group_step_duration_seconds_sum) / sum(lockstep_group_step_duration_seconds_count)`); err != nil || len(mean) != 1 || mean[0].value < 0.7 || mean[0].value > 10 {
		p.Errorf("a step takes %v: %v; pods take 0.7 s to be Ready", mean, err)
	}
}

// An API server with the CRDs of the prometheus-operator accepts the manifests.
func TestMonitoringIsAcceptedByAnAPIServer(t *testing.T) {
	needsPrograms(t)
	s := newScene(t)
	crds := definitions(t)
	for _, kind := range []string{"prometheusrules", "servicemonitors", "podmonitors"} {
		s.must(s.cluster.Apply(t.Context(), filepath.Join(crds, "monitoring.coreos.com_"+kind+".yaml")))
	}
	for sentence, tc := range map[string]struct {
		components  []string
		want, never string
	}{
		"with a ServiceMonitor":          {[]string{"monitoring"}, "kind: ServiceMonitor\n", "kind: PodMonitor\n"},
		"with a PodMonitor in its place": {[]string{"monitoring", "monitoring/podmonitor"}, "kind: PodMonitor\n", "kind: ServiceMonitor\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			rendered := kustomized(t, "operator", tc.components...)
			if !strings.Contains(rendered, tc.want) || strings.Contains(rendered, tc.never) {
				t.Errorf("the rendered panels differ: %s, without %s", tc.want, tc.never)
			}
			file := filepath.Join(t.TempDir(), "rendered.yaml")
			writeFile(t, file, rendered)
			if err := s.cluster.Apply(t.Context(), file); err != nil {
				t.Error(err)
			}
		})
	}
}

// kustomized renders a user's kustomization.
func kustomized(t *testing.T, resource string, components ...string) string {
	t.Helper()
	manifests, err := filepath.Abs(filepath.Join(repository, "manifests"))
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	if manifests, err = filepath.Rel(own, manifests); err != nil {
		t.Fatal(err)
	}
	text := "resources: [" + filepath.Join(manifests, resource) + "]\ncomponents:\n"
	for _, c := range components {
		text += "  - " + filepath.Join(manifests, c) + "\n"
	}
	writeFile(t, filepath.Join(own, "kustomization.yaml"), text)
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	return string(goCommand(t, root, "tool", "-modfile=.tools/kustomize/go.mod", "kustomize", "build", own))
}
