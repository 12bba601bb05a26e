package monitoring_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// program returns promtool or prometheus, and builds it if it is missing.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := localcluster.PrometheusProgram(t.Context(), name, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// definitions returns the folder with the prometheus-operator's CRDs.
func definitions(t *testing.T) string {
	t.Helper()
	const module = "github.com/prometheus-operator/prometheus-operator"
	var found struct{ Dir string }
	if err := json.Unmarshal(goCommand(t, filepath.Join(repository, ".tools", "prometheus-operator"), "mod", "download", "-json", module), &found); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(found.Dir, "example", "prometheus-operator-crd")
}

func goCommand(t *testing.T, folder string, args ...string) []byte {
	t.Helper()
	var complaints strings.Builder
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir, command.Stderr, command.Env = folder, &complaints, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", args[0], err, &complaints)
	}
	return out
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
