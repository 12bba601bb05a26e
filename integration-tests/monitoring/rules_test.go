package monitoring_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// ruleGroup is a group of rules of Prometheus.
type ruleGroup struct {
	Name  string           `json:"name"`
	Rules []map[string]any `json:"rules"`
}

// rulesOf returns the groups of a PrometheusRule of manifests/monitoring.
func rulesOf(t *testing.T, name string) []ruleGroup {
	t.Helper()
	var manifest struct{ Spec struct{ Groups []ruleGroup } }
	if err := yaml.Unmarshal(readFile(t, filepath.Join(repository, "manifests", "monitoring", name)), &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Spec.Groups) == 0 {
		t.Fatalf("%s has no rules", name)
	}
	return manifest.Spec.Groups
}

// writeRules writes groups in a format that Prometheus reads: JSON is YAML.
func writeRules(t *testing.T, path string, groups []ruleGroup) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"groups": groups})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
