// Package enclosure runs a test binary once more, as root, with surroundings of its
// own: network, mounts and processes. What it starts there may do to these what a
// node of Kubernetes does, and all of it is gone when the run ends, however it ends.
// The machine is afterwards as it was, or Enter says what is not.
//
//	Enter ── prepare ── new namespaces ──► init: mounts, reaps ──► the test binary again, Inside
//	  │
//	  └── removes the folder and the control groups of the run
package enclosure

import (
	"context"
	"fmt"
	"os"
)

const (
	// role is set for the runs of a test binary that Enter began.
	role             = "LOCKSTEP_ENCLOSURE"
	asInit, asTester = "init", "tester"
	// folder names the folder of the run.
	folder = "LOCKSTEP_ENCLOSURE_DIR"
	// trial is set where no tests are wanted, only the enclosure.
	trial = "LOCKSTEP_ENCLOSURE_TRIAL"
	// prefix is how folders and control groups of runs are called.
	prefix = "lockstep-enclosed-"
)

// Inside reports whether this process runs in an enclosure.
func Inside() bool { return os.Getenv(role) == asTester }

// Dir is a folder for whatever the run needs on disk, which is also where its
// temporary files are. It is gone when the run ends.
func Dir() string { return os.Getenv(folder) }

// Main is what a TestMain does whose tests belong into an enclosure. It returns the
// exit code.
func Main(tests interface{ Run() int }, prepare func(dir string) error) int {
	if Inside() {
		return tests.Run()
	}
	code, err := Enter(context.Background(), prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, "--- FAIL:", err)
		return 1
	}
	return code
}
