// Package monitoring_test sees to it that manifests/monitoring tells the truth: alerts
// are raised by what they are about, and every query of the dashboard gives something
// while the real operator rolls and answers, with a real Prometheus in between. So do
// the queries and the alerts that people have from the predecessor.
//
// Prometheus and promtool are built once, from the versions that .tools/prometheus
// pins, which takes minutes; so all of it waits for LOCKSTEP_MONITORING (make monitoring).
package monitoring_test

import (
	"os"
	"testing"
)

const repository = "../.."

// asked skips a test that needs programs which take minutes to build.
func asked(t *testing.T) {
	t.Helper()
	if os.Getenv("LOCKSTEP_MONITORING") == "" {
		t.Skip("set LOCKSTEP_MONITORING=check to build Prometheus and run this (make monitoring)")
	}
}
