package debian_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/debian"
)

func TestAProgramOfAPackageRunsFromWhereItWasUnpacked(t *testing.T) {
	asked(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root, err := debian.Unpack(t.Context(), os.Stderr, "hello")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), root.Path("/usr/bin/hello"))
	command.Env = root.Environment()
	out, err := command.Output()
	if err != nil || !strings.Contains(string(out), "Hello, world!") {
		t.Errorf("it said %q, %v", out, err)
	}
	again, err := debian.Unpack(t.Context(), os.Stderr, "hello")
	if err != nil || again != root {
		t.Errorf("once more it is %q, %v, want %q", again, err, root)
	}
}

func TestAPackageThatDoesNotExistLeavesNothing(t *testing.T) {
	asked(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if root, err := debian.Unpack(t.Context(), nil, "lockstep-does-not-exist"); err == nil {
		t.Errorf("it was unpacked into %s", root)
	}
	left, err := os.ReadDir(cache + "/lockstep/debian")
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// asked skips a test that needs a network, or where there are no packages.
func asked(t *testing.T) {
	t.Helper()
	if os.Getenv("LOCKSTEP_E2E") == "" {
		t.Skip("set LOCKSTEP_E2E=run to run this (make e2e)")
	}
	if missing := debian.Missing(); missing != nil {
		t.Skipf("SKIPPED, NOT PROVED: %v", missing)
	}
}
