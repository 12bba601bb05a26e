package enclosure_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
)

var outside = os.Getenv("LOCKSTEP_ENCLOSURE") == ""

func TestMain(m *testing.M) {
	if enclosure.Inside() || enclosure.Missing() != nil {
		os.Exit(m.Run())
	}
	code, err := enclosure.Enter(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "lockstep-enclosure-*")); outside && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "--- FAIL: the enclosure left %q\n", left)
		code = 1
	}
	os.Exit(code)
}

// enclosed skips a test where there is no enclosure.
func enclosed(t *testing.T) {
	t.Helper()
	if missing := enclosure.Missing(); missing != nil {
		t.Skipf("SKIPPED, NOT PROVED: %v", missing)
	}
}

func TestTheNetworkHasNothingButLoopback(t *testing.T) {
	enclosed(t)
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			t.Errorf("there is %s", i.Name)
		}
	}
}

func TestWhatIsWrittenToPlacesOfTheSystemStaysInside(t *testing.T) {
	enclosed(t)
	for _, folder := range []string{"/run", "/var/lib", "/var/log"} {
		file := filepath.Join(folder, "lockstep-enclosure-was-here")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join("/proc/1/root", file)); err != nil {
			t.Errorf("init does not see it: %v", err)
		}
	}
}

func TestOrphansAreReaped(t *testing.T) {
	enclosed(t)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'echo $$; exec sleep 0.1' & wait; (sleep 0.1 & echo $!)").Output()
	if err != nil {
		t.Fatal(err)
	}
	for orphan := range strings.FieldsSeq(string(out)) {
		for range 100 {
			if _, err := os.Stat("/proc/" + orphan); err != nil {
				break
			}
			exec.CommandContext(t.Context(), "sleep", "0.05").Run() //nolint:errcheck // a pause
		}
		if _, err := os.Stat("/proc/" + orphan); err == nil {
			t.Errorf("process %s is still there", orphan)
		}
	}
}
