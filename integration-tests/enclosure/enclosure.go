// Package enclosure runs a test binary again, as root, with its own network, mounts and processes.
// Programs in it may change these like a node of Kubernetes does. The end of the run, however it
// ends, removes all of them. Afterwards the machine is unchanged, or Enter returns the differences.
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
	// role is set for the runs of a test binary that Enter starts.
	role             = "LOCKSTEP_ENCLOSURE"
	asInit, asTester = "init", "tester"
	// folder names the folder of the run.
	folder = "LOCKSTEP_ENCLOSURE_DIR"
	// trial is set if only the enclosure is to be tried, without tests.
	trial = "LOCKSTEP_ENCLOSURE_TRIAL"
	// prefix is the prefix of the folders and control groups of runs.
	prefix = "lockstep-enclosed-"
)

// Inside reports whether this process runs in an enclosure.
func Inside() bool { return os.Getenv(role) == asTester }

// Dir returns the run's folder on disk, which also has its temporary files. The end of the run
// removes it.
func Dir() string { return os.Getenv(folder) }

// Main implements TestMain for tests that need an enclosure. It returns the exit code.
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
