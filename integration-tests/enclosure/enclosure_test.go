package enclosure_test

import (
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

// requested reports whether tests that change namespaces and mounts are to run (make e2e).
var requested = os.Getenv("LOCKSTEP_E2E") != ""

func TestMain(m *testing.M) {
	if !requested || enclosure.Missing() != nil {
		os.Exit(m.Run())
	}
	os.Exit(verifiesOutside(m))
}

// verifiesOutside runs the tests in an enclosure, and fails if objects of the enclosure
// remain.
func verifiesOutside(m *testing.M) int {
	if enclosure.Inside() {
		return m.Run()
	}
	var dir string
	code := enclosure.Main(m, func(made string) error {
		dir = made
		return os.WriteFile(filepath.Join(dir, "prepared"), nil, 0o600)
	})
	for _, path := range append(written(), dir) {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			fmt.Fprintln(os.Stderr, "--- FAIL: remaining objects of the enclosure", path, err)
			code = 1
		}
	}
	return code
}

// written returns files that tests in the enclosure create in folders of the system.
func written() (files []string) {
	for _, folder := range []string{"/run", "/var/lib", "/var/log"} {
		files = append(files, filepath.Join(folder, "lockstep-was-here"))
	}
	return files
}

// enclosed skips a test if there is no enclosure.
func enclosed(t *testing.T) {
	t.Helper()
	if !requested {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_E2E=run to run this (make e2e)")
	}
	if missing := enclosure.Missing(); missing != nil {
		t.Skipf("SKIPPED, NOT PROVED: %v", missing)
	}
}

func TestTheFolderContainsThePreparedFiles(t *testing.T) {
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

// TestMain checks that the files do not exist outside.
func TestPlacesOfTheSystemCanBeWrittenTo(t *testing.T) {
	enclosed(t)
	for _, file := range written() {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// Enter checks that the settings do not change outside.
func TestSettingsOfTheMachineCanBeWrittenTo(t *testing.T) {
	enclosed(t)
	for _, setting := range []string{
		"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
		"vm/overcommit_memory", "vm/panic_on_oom",
	} {
		file := filepath.Join("/proc/sys", setting)
		if out, err := exec.CommandContext(t.Context(), "stat", "--file-system", "--format=%T", file).Output(); err != nil || string(out) != "tmpfs\n" {
			t.Errorf("%s is of the machine itself: its file system is %q, %v", setting, out, err)
			continue
		}
		if err := os.WriteFile(file, []byte("7"), 0o644); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != "7" {
			t.Errorf("%s is %q, %v", setting, got, err)
		}
	}
}

func TestControlGroupsAreOfTheRun(t *testing.T) {
	enclosed(t)
	group, err := enclosure.MakeControlGroup("some")
	if err != nil {
		t.Fatal(err)
	}
	if want := "/" + filepath.Base(enclosure.Dir()) + "/some"; group != want {
		t.Errorf("it is %q, want %q", group, want)
	}
	if found, err := filepath.Glob("/sys/fs/cgroup/*" + group); err != nil || len(found) == 0 {
		found, err = filepath.Glob("/sys/fs/cgroup" + group)
		if err != nil || len(found) == 0 {
			t.Errorf("it is nowhere: %v", err)
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
	for patience := time.Now().Add(time.Minute); time.Now().Before(patience); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(orphan); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("%s is still there", orphan)
}

func TestWhereNoEnclosureCanBeHadTestsAreSkippedAndSayWhy(t *testing.T) {
	enclosed(t)
	for name, place := range map[string]struct{ within, says string }{
		"a container":               {`exec setpriv --bounding-set=-sys_admin "$@"`, "which take CAP_SYS_ADMIN"},
		"read-only control groups":  {`for d in /sys/fs/cgroup/*/ /sys/fs/cgroup; do mount -o remount,bind,ro "$d" 2>/dev/null; done; exec "$@"`, "read-only file system"},
		"no control groups mounted": {`mount -t tmpfs none /sys/fs/cgroup; exec "$@"`, "no hierarchy is at"},
		"another user":              {`exec setpriv --reuid=65534 "$@"`, "root is needed"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := outside(t, place.within).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "SKIPPED, NOT PROVED") || !strings.Contains(string(out), place.says) {
				t.Errorf("it ends with %v and does not print %q:\n%s", err, place.says, out)
			}
		})
	}
}

// outside returns a command that runs one of these tests outside of an enclosure, from a shell with
// its own mounts.
func outside(t *testing.T, within string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", within, "sh",
		os.Args[0], "-test.run=^TestTheFolderContainsThePreparedFiles$", "-test.v")
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "LOCKSTEP_ENCLOSURE") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, "TMPDIR="+t.TempDir())
	return command
}
