package enclosure_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
)

// asked tells whether tests that change namespaces and mounts are wanted (make e2e).
var asked = os.Getenv("LOCKSTEP_E2E") != ""

func TestMain(m *testing.M) {
	if !asked || enclosure.Inside() || enclosure.Missing() != nil {
		os.Exit(m.Run())
	}
	var dir string
	code, err := enclosure.Enter(context.Background(), func(made string) error {
		dir = made
		return os.WriteFile(filepath.Join(dir, "prepared"), nil, 0o600)
	})
	if _, left := os.Stat(dir); err == nil && !errors.Is(left, os.ErrNotExist) {
		err = fmt.Errorf("the enclosure left %s: %w", dir, left)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "--- FAIL:", err)
		code = 1
	}
	os.Exit(code)
}

// enclosed skips a test where there is no enclosure.
func enclosed(t *testing.T) {
	t.Helper()
	if !asked {
		t.Skip("set LOCKSTEP_E2E=run to run this (make e2e)")
	}
	if missing := enclosure.Missing(); missing != nil {
		t.Skipf("SKIPPED, NOT PROVED: %v", missing)
	}
}

func TestTheFolderHasWhatWasPrepared(t *testing.T) {
	enclosed(t)
	if _, err := os.Stat(filepath.Join(enclosure.Dir(), "prepared")); err != nil {
		t.Error(err)
	}
}

func TestTheNetworkHasNothingThatIsUp(t *testing.T) {
	enclosed(t)
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 {
			t.Errorf("%s is up", i.Name)
		}
	}
}

func TestPlacesOfTheSystemCanBeWrittenTo(t *testing.T) {
	enclosed(t)
	for _, folder := range []string{"/run", "/var/lib", "/var/log"} {
		if err := os.WriteFile(filepath.Join(folder, "lockstep-was-here"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

func TestOrphansAreReaped(t *testing.T) {
	enclosed(t)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "sleep 0.1 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join("/proc", strings.TrimSpace(string(out)))
	for patience := time.Now().Add(10 * time.Second); time.Now().Before(patience); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(orphan); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("%s is still there", orphan)
}
