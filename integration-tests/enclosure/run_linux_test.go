package enclosure

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestARunThatWasKilledIsSweptByTheNextAndOneThatLivesIsNot(t *testing.T) {
	if !Inside() {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_E2E=run to run this, as root (make e2e)")
	}
	t.Setenv("TMPDIR", t.TempDir())
	living, killed := makeRun(t), makeRun(t)
	killed.lock.Close() // like the kernel after the end of a process
	next := makeRun(t)
	for _, path := range places(killed) {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("of the dead runs, %s remains: %v", path, err)
		}
	}
	for _, r := range []*run{living, next} {
		for _, path := range places(r) {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("of the living: %v", err)
			}
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	}
}

func makeRun(t *testing.T) *run {
	t.Helper()
	r, err := newRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.makeControlGroups(); err != nil {
		t.Fatal(err)
	}
	return r
}

// places returns the folder and the control groups of a run.
func places(r *run) []string {
	found := []string{r.dir}
	for _, root := range roots() {
		found = append(found, filepath.Join(root, filepath.Base(r.dir)))
	}
	return found
}

func TestTheMachineIsAsItWasUnlessASettingOrAControlGroupSaysOtherwise(t *testing.T) {
	t.Parallel()
	before := machine{"/proc/sys/kernel/panic": "0", "/sys/fs/cgroup/memory/user": "there", "/sys/fs/cgroup/cgroup.subtree_control": "cpu"}
	for name, c := range map[string]struct {
		now   machine
		wants bool
	}{
		"no change":                 {before, true},
		"a module brought settings": {machine{"/proc/sys/net/netfilter/nf_conntrack_max": "1"}, true},
		"others ended":              {machine{}, true},
		"a setting is another":      {machine{"/proc/sys/kernel/panic": "10"}, false},
		"a control group came":      {machine{"/sys/fs/cgroup/memory/k8s.io": "there"}, false},
		"a controller was handed":   {machine{"/sys/fs/cgroup/cgroup.subtree_control": "cpu cpuset"}, false},
	} {
		if err := before.compare(c.now); (err == nil) != c.wants {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConditionsOfTheMachineAreReported(t *testing.T) {
	t.Parallel()
	if seen := readMachine(); seen["/proc/sys/kernel/panic"] == "" {
		t.Errorf("it sees %d files and not kernel.panic", len(seen))
	}
}
