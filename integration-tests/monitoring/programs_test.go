package monitoring_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// program builds promtool or prometheus, or finds what was built of the same versions.
// Without the ways to find targets in clouds, which nobody needs here, it is a third of
// the work.
func program(t *testing.T, name string) string {
	t.Helper()
	source := filepath.Join(repository, ".tools", "prometheus")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(slices.Concat(readFile(t, filepath.Join(source, "go.mod")), readFile(t, filepath.Join(source, "go.sum"))))
	shelf := filepath.Join(cache, "lockstep", "prometheus", fmt.Sprintf("%s-%s-%x", runtime.GOOS, runtime.GOARCH, hash[:6]))
	ready := filepath.Join(shelf, name)
	if _, err := os.Stat(ready); err == nil {
		return ready
	}
	t.Logf("building %s (once, a few minutes)", name)
	if err := os.MkdirAll(shelf, 0o755); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(shelf, fmt.Sprintf(".%s-%d", name, os.Getpid()))
	goCommand(t, source, "build", "-tags=remove_all_sd", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags=-s -w",
		"-o", fresh, "github.com/prometheus/prometheus/cmd/"+name)
	if err := os.Rename(fresh, ready); err != nil { // complete, or not there
		t.Fatal(err)
	}
	return ready
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
