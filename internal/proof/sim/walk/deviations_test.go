package walk

import "testing"

// Each test case plants a mistake in the code that stands in for internal/act, internal/control and the
// API server. The walk must detect the consequence. For the planner, the hold, freshness and the
// Observer, make mutants plants mistakes in the source.
func TestEveryDeviationIsDetected(t *testing.T) {
	for name, tc := range map[string]struct {
		deviations Deviations
		want       string
		from       uint64 // the first seed
	}{
		"no preconditions on deletes":                {Deviations{Unconditional: true}, "ExactTarget", 0},
		"evictions that are not bound to pods":       {Deviations{Unpinned: true}, "ExactTarget", 0},
		"intent written after the delete":            {Deviations{LeaseWrittenLate: true}, "RecordedFirst", 0},
		"replicas added before the delete":           {Deviations{UpscaleFirst: true}, "OtherZonesAvailable", 1145},
		"no preconditions on Lease writes":           {Deviations{Overwriting: true}, "RecordedFirst", 3},
		"caches not checked again after a read":      {Deviations{Unconfirmed: true}, "OtherZonesAvailable", 190},
		"StatefulSets not read before a disruption":  {Deviations{Unverified: true}, "NotPaused", 1},
		"timers that do not fire":                    {Deviations{NoTimers: true}, "Progress", 0},
		"reconciles without a reason":                {Deviations{NeedlessReconciles: true}, "Quiet", 0},
		"zones that left are ignored":                {Deviations{AbsentZonesIgnored: true}, "OneZoneAtATime", 0},
		"bare pods evicted without a review":         {Deviations{BarePodsNotReviewed: true}, "ExactTarget", 0},
		"a record that a process keeps as its own":   {Deviations{OwnRecordKept: true}, "WithinBudget", 80},
		"steady clocks at three times the true rate": {Deviations{FastClocks: true}, "RecordedFirst", 321},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := tc.from; seed < tc.from+1000; seed++ {
				s := Draw(seed)
				s.Deviations = tc.deviations
				violations := Run(t, s).Violations
				if len(violations) == 0 {
					continue
				}
				t.Logf("seed %d: %s: %s", seed, violations[0].Rule, violations[0].Detail)
				if violations[0].Rule != tc.want {
					continue
				}
				return
			}
			t.Errorf("not detected by %s", tc.want)
		})
	}
}

// A schedule that breaks a rule can be run again for analysis.
func TestScheduleIsDeterministic(t *testing.T) {
	for seed := range uint64(20) {
		a, b := Run(t, Draw(seed)), Run(t, Draw(seed))
		if a.String() != b.String() || a.Days != b.Days {
			t.Errorf("seed %d:\n%v\nand then\n%v", seed, &a, &b)
		}
	}
}

func TestMinimizeShortensSchedule(t *testing.T) {
	for seed := range uint64(100) {
		s := Draw(seed)
		s.Deviations = Deviations{LeaseWrittenLate: true}
		counterexample := Minimize(t, s)
		if counterexample == nil {
			continue
		}
		if len(counterexample.Steps) >= len(s.Steps) || len(counterexample.Trace) == 0 {
			t.Errorf("%d of %d steps are left, and the trace has %d lines", len(counterexample.Steps), len(s.Steps), len(counterexample.Trace))
		}
		t.Logf("\n%v", counterexample)
		return
	}
	t.Error("no schedule breaks a rule")
}
