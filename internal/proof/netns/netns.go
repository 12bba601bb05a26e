// Package netns runs tests in a network of their own, in which addresses of their choice
// are local. So tests can call pods at the addresses that the pods have. The package
// imports nothing of lockstep, because suites that must not depend on lockstep use it
// too. Only tests import it.
package netns

import (
	"os"
	"testing"
)

const (
	// marker is an environment variable of the second run of a test binary. Its value is
	// fresh at first, and ready once the network is set up. Child processes inherit it.
	marker       = "LOCKSTEP_TEST_IN_NETWORK_NAMESPACE"
	fresh, ready = "new", "ready"
	// without is an environment variable that skips tests if such a network cannot be
	// created.
	without = "LOCKSTEP_WITHOUT_NETWORK_NAMESPACES"
)

// Inside reports whether this process is the run that Again started, or a child of that
// run.
func Inside() bool { return os.Getenv(marker) != "" }

// Need ends a test that needs such a network if the network is missing.
func Need(tb testing.TB, missing error) {
	tb.Helper()
	switch {
	case missing == nil:
	case os.Getenv(without) == "1":
		tb.Skipf("SKIPPED, NOT PROVED: %s=1, and there is no network of our own: %v", without, missing)
	default:
		tb.Fatalf("no network of our own: %v (%s=1 skips these tests)", missing, without)
	}
}
