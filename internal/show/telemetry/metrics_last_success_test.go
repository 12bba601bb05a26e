package telemetry_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

const lastSuccess = `lockstep_group_last_success_timestamp_seconds{group="g",namespace="n"}`

// succeeded returns how long ago the last success of the group was, according to a scrape.
func succeeded(t *testing.T, m *telemetry.Metrics) time.Duration {
	t.Helper()
	at, err := strconv.ParseFloat(scrape(t, m)[lastSuccess], 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(time.UnixMilli(int64(at * 1000))).Round(time.Second)
}

func TestLastSuccessIsNowForAGroupThatRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := telemetry.NewMetrics("v1")
		m.Group("n", "g").Reconciled(t.Context(), "done", true, time.Second)
		time.Sleep(20 * time.Minute)
		if ago := succeeded(t, m); ago != 0 {
			t.Errorf("%s ago, want now", ago)
		}
	})
}

func TestLastSuccessIsConstantWhileReconcilesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := telemetry.NewMetrics("v1")
		g := m.Group("n", "g")
		g.Reconciled(t.Context(), "done", true, time.Second)
		time.Sleep(20 * time.Minute)
		for minute := range 5 { // the first failure began 10 seconds before it ended
			g.Reconciled(t.Context(), "again", false, 10*time.Second)
			if ago, want := succeeded(t, m), time.Duration(minute)*time.Minute+10*time.Second; ago != want {
				t.Errorf("failure %d: %s ago, want %s", minute, ago, want)
			}
			time.Sleep(time.Minute)
		}
		g.Reconciled(t.Context(), "done", true, time.Second)
		time.Sleep(time.Minute)
		if ago := succeeded(t, m); ago != 0 {
			t.Errorf("after the failures: %s ago, want now", ago)
		}
	})
}

func TestLastSuccessIsZeroWhileNoReconcileHasSucceeded(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	g := m.Group("n", "g")
	if got, there := scrape(t, m)[lastSuccess]; there {
		t.Errorf("before the first reconcile: %s, want no series", got)
	}
	g.Reconciled(t.Context(), "again", false, time.Second)
	if got := scrape(t, m)[lastSuccess]; got != "0" {
		t.Errorf("after a failure: %q, want 0", got)
	}
}

func TestLastSuccessIsConstantWhileACacheDoesNotAdvance(t *testing.T) {
	for cache, counts := range map[string]bool{"pods": true, "statefulsets": true, "leases": true, "namespaces": true, "secrets": false} {
		t.Run(cache, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, version := telemetry.NewMetrics("v1"), 0
				m.ObserveCaches(func() map[string]string {
					version++
					return map[string]string{cache: "1", "configmaps": fmt.Sprint(version)}
				})
				m.Group("n", "g").Reconciled(t.Context(), "done", true, time.Second)
				for elapsed := time.Duration(0); elapsed <= 50*time.Minute; elapsed += 5 * time.Minute {
					_ = scrape(t, m)
					want := time.Duration(0)
					if counts && elapsed > 30*time.Minute {
						want = elapsed
					}
					if ago := succeeded(t, m); ago != want {
						t.Errorf("after %s: %s ago, want %s", elapsed, ago, want)
					}
					time.Sleep(5 * time.Minute)
				}
			})
		})
	}
}
