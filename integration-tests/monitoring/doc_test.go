// Package monitoring_test tests that manifests/monitoring is correct. Alerts are raised for their
// causes, and every query of the dashboard returns data while the real operator works with a real
// Prometheus. The same applies to the queries and alerts that users have from the predecessor.
//
// Prometheus and promtool are built once, from the versions that .tools/prometheus pins, which
// takes minutes. So the tests run only with LOCKSTEP_MONITORING (make monitoring).
package monitoring_test

import (
	"os"
	"testing"
)

const repository = "../.."

// needsPrograms skips a test that needs programs whose build takes minutes.
func needsPrograms(t *testing.T) {
	t.Helper()
	if os.Getenv("LOCKSTEP_MONITORING") == "" {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_MONITORING=check to build Prometheus and run this (make monitoring)")
	}
}
