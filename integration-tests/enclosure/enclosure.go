// Package enclosure runs a test binary once more, as root, with surroundings of its
// own: network, mounts and processes. What it starts there may do to these what a
// node of Kubernetes does, and all of it is gone when the run ends, however it ends.
//
//	Enter ── prepare ── new namespaces ──► init: mounts, reaps ──► the test binary again, Inside
//	  │
//	  └── removes the folder and the control groups of the run
package enclosure

import (
	"fmt"
	"os"
)

const (
	// role is set for the runs of a test binary that Enter began.
	role               = "LOCKSTEP_ENCLOSURE"
	asInit, asResident = "init", "resident"
	// folder names the folder of the run.
	folder = "LOCKSTEP_ENCLOSURE_DIR"
	// prefix is how folders and control groups of runs are called; the number of the
	// process that entered follows.
	prefix = "lockstep-enclosure-"
)

// Inside tells whether this process runs in an enclosure.
func Inside() bool { return os.Getenv(role) == asResident }

// Dir is a folder for whatever the run needs on disk, which is also where its
// temporary files are. It is gone when the run ends.
func Dir() string { return os.Getenv(folder) }

// ControlGroup is the name of the control group, below the root of every hierarchy,
// that the run's containers belong under.
func ControlGroup() string { return fmt.Sprintf("/%s%s", prefix, os.Getenv(runNumber)) }

// runNumber tells runs apart.
const runNumber = "LOCKSTEP_ENCLOSURE_RUN"
