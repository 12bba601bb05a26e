package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// seriesOfPools returns the lines of a scrape about StatefulClusters.
func seriesOfPools(t *testing.T, m *telemetry.Metrics, part string) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(page(t, m, "text/plain")) {
		if strings.HasPrefix(line, "lockstep_statefulcluster_") && strings.Contains(line, part) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestAHoleLastsUntilAsManyPodsAsAskedForAreAvailable(t *testing.T) {
	m := telemetry.NewMetrics("")
	p, start := m.Pool("n", "db"), time.Unix(1_800_000_000, 0)
	for seconds, state := range []telemetry.PoolState{
		{Desired: 3, Available: 3},
		{Desired: 3, Available: 2, Missing: true},
		{Desired: 3, Available: 2},
		{Desired: 3, Available: 3},
		{Desired: 3, Available: 2}, // a pod is not Ready for a moment
		{Desired: 3, Available: 3},
	} {
		state.At = start.Add(time.Duration(seconds) * time.Second)
		p.Show(state)
	}
	want := []string{"lockstep_statefulcluster_hole_seconds_sum 2", "lockstep_statefulcluster_hole_seconds_count 1"}
	if diff := cmp.Diff(want, append(seriesOfPools(t, m, "hole_seconds_sum"), seriesOfPools(t, m, "hole_seconds_count")...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAForgottenStatefulClusterHasNoSeries(t *testing.T) {
	m := telemetry.NewMetrics("")
	m.Pool("n", "db").Show(telemetry.PoolState{Desired: 3, Waiting: []string{"PodMissing", "PodMissing"}})
	if got := seriesOfPools(t, m, `waiting{name="db",namespace="n",reason="PodMissing"} 1`); len(got) != 1 {
		t.Errorf("waits: %v", got)
	}
	m.ForgetPool("n", "db")
	if got := seriesOfPools(t, m, `name="db"`); len(got) > 0 {
		t.Errorf("still shown: %v", got)
	}
}

// A kind that is not enabled has no series.
func TestWithoutAStatefulClusterThereAreNoSeries(t *testing.T) {
	if got := seriesOfPools(t, telemetry.NewMetrics(""), ""); len(got) > 0 {
		t.Errorf("shown: %v", got)
	}
}
