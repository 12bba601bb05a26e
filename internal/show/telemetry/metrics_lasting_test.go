package telemetry_test

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

const activityStart = `lockstep_group_zone_activity_start_timestamp_seconds{group="g",namespace="n",zone="z"}`

// The hold contains the start time, also after a restart. Without a hold, the start time is when
// this process first saw the activity.
func TestTheStartOfAnActivityIsShown(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	for i, report := range []struct {
		activity        string
		at, taken, want int64
	}{
		{"Settled", 100, 0, 100},
		{"Settled", 110, 0, 100},
		{"Rolling", 120, 115, 115},
		{"Rolling", 130, 115, 115},
		{"Rolling", 140, 135, 135}, // released and acquired again
		{"Settled", 150, 0, 150},
	} {
		zone := telemetry.ZoneState{Name: "z", Activity: report.activity}
		if report.taken > 0 {
			zone.Since = time.Unix(report.taken, 0)
		}
		m.Group("n", "g").Show(telemetry.GroupState{At: time.Unix(report.at, 0), Zones: []telemetry.ZoneState{zone}})
		if got := scrape(t, m)[activityStart]; got != fmt.Sprint(report.want) {
			t.Errorf("reconcile %d: since %s, want %d", i, got, report.want)
		}
	}
}

func TestChangesOfHolderAreCountedAsTheLeaseCountsThem(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	const series = `lockstep_group_hold_transitions_total{group="g",namespace="n"}`
	for _, n := range []int{4, 4, 7, 1} { // the last one is of a Lease that was created again
		m.Group("n", "g").Show(telemetry.GroupState{Hold: telemetry.HoldState{Transitions: n}})
		if got := scrape(t, m)[series]; got != fmt.Sprint(n) {
			t.Errorf("%s, want %d", got, n)
		}
	}
}

func TestTheHoldShowsSinceAndUntilWhen(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	held := telemetry.HoldState{Operation: "other", Acquired: time.Unix(100, 5e8), Expires: time.Unix(200, 0)}
	m.Group("n", "g").Show(telemetry.GroupState{Hold: held})
	got := scrape(t, m)
	for name, want := range map[string]string{
		`lockstep_group_hold_acquired_timestamp_seconds{group="g",namespace="n"}`: "100.5",
		`lockstep_group_hold_expiry_timestamp_seconds{group="g",namespace="n"}`:   "200",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
	m.Group("n", "g").Show(telemetry.GroupState{})
	if left := some(scrape(t, m), "lockstep_group_hold_acquired"); len(left) > 0 {
		t.Errorf("there is no holder, and there is %v", left)
	}
}

func TestTheAgeOfACacheIncreasesWhileItsVersionIsConstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := telemetry.NewMetrics("v1")
		versions := map[string]string{"pods": "5", "leases": ""}
		m.ObserveCaches(func() map[string]string { return maps.Clone(versions) })
		const series = `lockstep_cache_advanced_timestamp_seconds{cache="pods"}`
		first := scrape(t, m)
		time.Sleep(time.Minute)
		if got := scrape(t, m)[series]; got == "" || got != first[series] {
			t.Errorf("the version is the same, the time went from %s to %s", first[series], got)
		}
		versions["pods"] = "6"
		if got := scrape(t, m)[series]; got == first[series] {
			t.Error("the version is another one, the time is not")
		}
		if left := some(first, `lockstep_cache_advanced_timestamp_seconds{cache="leases"}`); len(left) > 0 {
			t.Error("a cache that is not filled has an age")
		}
	})
}

func TestWaitsOfNamespacesAreBoundedAndForgotten(t *testing.T) {
	const prefix = "lockstep_namespace_queue_duration_seconds_count"
	m := telemetry.NewMetrics("v1")
	for i := range 600 {
		m.NamespaceWaited(fmt.Sprint("n", i), time.Second)
	}
	all := scrape(t, m)
	if n := len(some(all, prefix)); n != 501 {
		t.Errorf("%d series, want 500 and one for the others", n)
	}
	if got := all[prefix+`{namespace=""}`]; got != "100" {
		t.Errorf("%q waits of others, want 100", got)
	}
	m.ForgetNamespace("n1")
	m.NamespaceWaited("n599", time.Second)
	all = scrape(t, m)
	if all[prefix+`{namespace="n1"}`] != "" || all[prefix+`{namespace="n599"}`] != "1" {
		t.Error("a place that is free again is not given to the next namespace")
	}
	m.ForgetNamespaces()
	if left := some(scrape(t, m), prefix); len(left) > 0 {
		t.Errorf("remaining: %v", left)
	}
}

func TestBudgetsAreInvalidForAsLongAsTheyAre(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	broken := func(names ...string) (all []telemetry.Budget) {
		for _, name := range names {
			all = append(all, telemetry.Budget{Name: name, Invalid: true})
		}
		return all
	}
	m.Budgets("a", broken("x", "y"))
	m.Budgets("b", broken("x"))
	m.Budgets("a", broken("y"))
	m.Budgets("b", nil)
	got := some(scrape(t, m), "lockstep_budget_invalid{")
	if len(got) != 1 || got[0] != `lockstep_budget_invalid{budget="y",namespace="a"}` {
		t.Errorf("got %v", got)
	}
}

func TestChangesOfBudgetsAreCounted(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	for i, step := range []struct {
		budgets                   []telemetry.Budget
		updated, deleted, invalid string
	}{
		{[]telemetry.Budget{{Name: "x", Version: "1"}}, "1", "0", "0"},
		{[]telemetry.Budget{{Name: "x", Version: "1"}}, "1", "0", "0"},
		{[]telemetry.Budget{{Name: "x", Version: "2", Invalid: true}, {Name: "y", Version: "1"}}, "2", "0", "1"},
		{[]telemetry.Budget{{Name: "x", Version: "3"}}, "3", "1", "1"},
		{nil, "3", "2", "1"},
	} {
		m.Budgets("n", step.budgets)
		want := map[string]string{
			`lockstep_budget_changes_total{change="updated",namespace="n"}`: step.updated,
			`lockstep_budget_changes_total{change="deleted",namespace="n"}`: step.deleted,
			`lockstep_budget_changes_total{change="invalid",namespace="n"}`: step.invalid,
		}
		if diff := cmp.Diff(want, only(scrape(t, m), "lockstep_budget_changes_total")); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestTheTimeOfAnInvalidBudgetIncreases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := telemetry.NewMetrics("v1")
		const series = `lockstep_budget_invalid_seconds_total{namespace="n"}`
		for i, step := range []struct {
			invalid bool
			want    string
		}{{true, "60"}, {true, "120"}, {false, "120"}, {true, "180"}} {
			m.Budgets("n", []telemetry.Budget{{Name: "x", Version: fmt.Sprint(i), Invalid: step.invalid}})
			time.Sleep(time.Minute)
			if got := scrape(t, m)[series]; got != step.want {
				t.Errorf("minute %d: %q s, want %s", i, got, step.want)
			}
		}
	})
}
