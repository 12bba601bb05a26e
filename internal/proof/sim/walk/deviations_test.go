package walk

import "testing"

// Each control changes what the walk does in place of internal/act, of internal/control
// and of the API server, and the judge must detect the consequence. make mutants changes
// the planner, the hold, freshness and the Observer in the source.
func TestEveryDeviationIsDetected(t *testing.T) {
	for name, tc := range map[string]struct {
		rules Deviations
		want  string
		from  uint64 // the first seed
	}{
		"no preconditions on deletes":                        {Deviations{Unconditional: true}, "ExactTarget", 0},
		"evictions that are not bound to pods":               {Deviations{Unpinned: true}, "ExactTarget", 0},
		"intent written after the delete":                    {Deviations{LeaseWrittenLate: true}, "NotedFirst", 0},
		"replicas added before the delete":                   {Deviations{UpscaleFirst: true}, "RestIsWhole", 1145},
		"Lease written whatever it says":                     {Deviations{Overwriting: true}, "NotedFirst", 3},
		"caches not asked again after a read":                {Deviations{Unconfirmed: true}, "RestIsWhole", 190},
		"StatefulSets not read before a disruption":          {Deviations{Unverified: true}, "StandStill", 1},
		"timers that do not ring":                            {Deviations{NoTimers: true}, "Progress", 0},
		"looks without a reason":                             {Deviations{NeedlessReconciles: true}, "Rests", 0},
		"zones that left are not looked for":                 {Deviations{AbsentZonesIgnored: true}, "OneZoneAtATime", 0},
		"strangers that are trusted":                         {Deviations{BarePodsNotReviewed: true}, "ExactTarget", 0},
		"steady clocks that go at three times the true pace": {Deviations{FastClocks: true}, "NotedFirst", 321},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := tc.from; seed < tc.from+1000; seed++ {
				s := Draw(seed)
				s.Deviations = tc.rules
				broken := Run(t, s).Violations
				if len(broken) == 0 {
					continue
				}
				t.Logf("seed %d: %s: %s", seed, broken[0].Rule, broken[0].Detail)
				if broken[0].Rule != tc.want {
					continue
				}
				return
			}
			t.Errorf("nobody noticed by %s", tc.want)
		})
	}
}

// A failed schedule can be run again for analysis.
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
		story := Minimize(t, s)
		if story == nil {
			continue
		}
		if len(story.Steps) >= len(s.Steps) || len(story.Trace) == 0 {
			t.Errorf("%d steps of %d are left, and %d lines are told", len(story.Steps), len(s.Steps), len(story.Trace))
		}
		t.Logf("\n%v", story)
		return
	}
	t.Error("nothing to tell")
}
