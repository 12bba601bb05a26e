// Package netns lets tests run in a network of their own, in which addresses they
// choose are this machine's: so the pods of a test are called at the addresses
// they have. It knows nothing of lockstep, so that suites which are to know
// nothing of it may use it too. It stands beside the house: only tests import it.
package netns

import (
	"os"
	"testing"
)

const (
	// marker is set for the second run of a test binary: to fresh, and to ready once
	// the network is set up, for what that run starts.
	marker       = "LOCKSTEP_TEST_IN_NETWORK_NAMESPACE"
	fresh, ready = "new", "ready"
	// without lets tests be skipped where such a network cannot be had.
	without = "LOCKSTEP_WITHOUT_NETWORK_NAMESPACES"
)

// Inside reports whether this is the run that Again began, or what that one started.
func Inside() bool { return os.Getenv(marker) != "" }

// Need ends a test that needs such a network where it is missing.
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
