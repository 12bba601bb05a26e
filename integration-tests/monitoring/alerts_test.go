package monitoring_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// played is the part of testdata/alerts.yaml that the test reads.
type played struct {
	Tests []struct {
		Alerts []struct {
			Name   string `json:"alertname"`
			Raised []any  `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	}
}

func TestRulesAreUnderstoodByPrometheus(t *testing.T) {
	needsPrograms(t)
	for _, name := range []string{"alerts.yaml", "predecessor.yaml"} {
		file := filepath.Join(t.TempDir(), name)
		writeRules(t, file, rulesOf(t, name))
		promtool(t, "check", "rules", file)
	}
}

func TestAlertsAreRaisedByTheirCauses(t *testing.T) {
	needsPrograms(t)
	folder := t.TempDir()
	groups := rulesOf(t, "alerts.yaml")
	for _, g := range groups {
		for _, r := range g.Rules {
			delete(r, "annotations") // texts need not be written twice
		}
	}
	writeRules(t, filepath.Join(folder, "alerts.rules.yaml"), groups)
	played := filepath.Join(folder, "alerts.yaml")
	if err := os.WriteFile(played, readFile(t, "testdata/alerts.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "test", "rules", played)
}

// Without a test, the cause of an alert would be unknown.
func TestEveryAlertIsPlayed(t *testing.T) {
	var p played
	if err := yaml.Unmarshal(readFile(t, "testdata/alerts.yaml"), &p); err != nil {
		t.Fatal(err)
	}
	raised, silent := map[string]bool{}, map[string]bool{}
	for _, test := range p.Tests {
		for _, a := range test.Alerts {
			raised[a.Name] = raised[a.Name] || len(a.Raised) > 0
			silent[a.Name] = silent[a.Name] || len(a.Raised) == 0
		}
	}
	for _, g := range rulesOf(t, "alerts.yaml") {
		for _, r := range g.Rules {
			name, _ := r["alert"].(string)
			_, waits := r["for"]
			if !raised[name] || waits && !silent[name] {
				t.Errorf("%s is raised in a test: %t; is not raised in one: %t", name, raised[name], silent[name])
			}
		}
	}
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t, "promtool"), args...).CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", args[0], err, out)
	}
}
