package debian_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/debian"
)

func TestAProgramOfAPackageRunsFromWhereItWasUnpackedAndTheMachineStaysAsItIs(t *testing.T) {
	needsNetwork(t)
	before := machineLists(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root, err := debian.Unpack(t.Context(), os.Stderr, "hello")
	if errors.Is(err, debian.ErrUnreachable) || errors.Is(err, debian.ErrLacking) {
		t.Skipf("SKIPPED, NOT PROVED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), root.Path("/usr/bin/hello"))
	command.Env = root.Environment()
	out, err := command.Output()
	if err != nil || !strings.Contains(string(out), "Hello, world!") {
		t.Errorf("it printed %q, %v", out, err)
	}
	again, err := debian.Unpack(t.Context(), os.Stderr, "hello")
	if err != nil || again != root {
		t.Errorf("once more it is %q, %v, want %q", again, err, root)
	}
	if after := machineLists(t); !slices.Equal(after, before) {
		t.Errorf("the machine's lists are\n%q, before\n%q", after, before)
	}
}

// machineLists returns the files that apt-get update writes, with their times.
func machineLists(t *testing.T) (files []string) {
	t.Helper()
	for _, folder := range []string{"/var/lib/apt/lists", "/var/cache/apt"} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, fmt.Sprint(info.Name(), info.ModTime()))
		}
	}
	return files
}

func TestAPackageThatTheDistributionLacksIsNamed(t *testing.T) {
	source := t.TempDir()
	there := "Package: there\nVersion: 1\nArchitecture: all\nFilename: ./there.deb\nSize: 1\nSHA256: " + strings.Repeat("0", 64) + "\n"
	if err := os.WriteFile(filepath.Join(source, "Packages"), []byte(there), 0o600); err != nil {
		t.Fatal(err)
	}
	err := unpackNothing(t, "file:"+source, "there", "absent", "gone")
	if !errors.Is(err, debian.ErrLacking) || errors.Is(err, debian.ErrUnreachable) {
		t.Fatalf("it says %v", err)
	}
	release, failure := os.ReadFile("/etc/os-release")
	_, said, _ := strings.Cut(err.Error(), debian.ErrLacking.Error()+": ")
	distribution, names, found := strings.Cut(said, " has no ")
	if failure != nil || !strings.Contains(string(release), distribution) || !found || !strings.HasPrefix(names, "absent, gone: ") {
		t.Errorf("it says %v, %v", err, failure)
	}
}

func TestWithoutAServerPackagesCannotBeFetched(t *testing.T) {
	if err := unpackNothing(t, "http://127.0.0.1:1", "hello"); !errors.Is(err, debian.ErrUnreachable) {
		t.Errorf("it says %v", err)
	}
}

// unpackNothing unpacks packages from a source that does not have them, and fails the test if files
// remain.
func unpackNothing(t *testing.T, source string, packages ...string) error {
	t.Helper()
	if missing := debian.Missing(); missing != nil {
		t.Skipf("SKIPPED, NOT PROVED: %v", missing)
	}
	sources, config := filepath.Join(t.TempDir(), "sources.list"), filepath.Join(t.TempDir(), "apt.conf")
	for file, content := range map[string]string{
		sources: "deb [trusted=yes] " + source + " ./\n",
		config:  fmt.Sprintf("Dir::Etc::SourceList %q;\nDir::Etc::SourceParts \"/dev/null\";\nAcquire::Retries \"0\";\n", sources),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache := t.TempDir()
	t.Setenv("APT_CONFIG", config)
	t.Setenv("XDG_CACHE_HOME", cache)
	_, err := debian.Unpack(t.Context(), nil, packages...)
	if left, failure := os.ReadDir(cache + "/lockstep/debian"); failure != nil || len(left) > 0 {
		t.Errorf("remaining are %v, %v", left, failure)
	}
	return err
}

// needsNetwork skips a test that needs a network, or if packages cannot be fetched.
func needsNetwork(t *testing.T) {
	t.Helper()
	if os.Getenv("LOCKSTEP_E2E") == "" {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_E2E=run to run this (make e2e)")
	}
	if missing := debian.Missing(); missing != nil {
		t.Skipf("SKIPPED, NOT PROVED: %v", missing)
	}
}
