package sim

import "testing"

// Each test case plants a mistake in the code that stands in for internal/act and for the API
// server. The explorer must detect the consequence, so rules that only restate the mistake are
// ignored. For the planner, the hold and freshness, make mutants plants mistakes in the source.
func TestEveryDeviationIsDetected(t *testing.T) {
	two := Config{Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, MaxStates: 1_000_000}
	pause := two
	pause.Tracks = [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}}
	newLeader := two
	newLeader.Handovers = 1
	evicted := Config{Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, PodDeletes: 1, MaxStates: 1_000_000, Tracks: [][]Edit{{{Evict, 0, 0}}}}
	twoEvicted := Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Crashes: 1, MaxStates: 1_000_000, Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 0, 1}}},
	}
	for name, tc := range map[string]struct {
		config     Config
		deviations Deviations
		want       string
		within     int // maximum number of moves
	}{
		"no preconditions on deletes": {two, Deviations{Unconditional: true}, "ExactTarget", 30},
		"no preconditions on deletes, detected by the consequence": {
			two, Deviations{Unconditional: true, Ignore: []string{"ExactTarget", "RecordedFirst"}}, "OneZoneAtATime", 30,
		},
		"no version among the preconditions of deletes": {
			pause, Deviations{Versionless: true, Ignore: []string{"ExactTarget", "RecordedFirst"}}, "OneZoneAtATime", 30,
		},
		"intent written after the delete": {pause, Deviations{LeaseWrittenLate: true, Ignore: []string{"NoLostIntent"}}, "RecordedFirst", 12},
		"intent written after the delete, detected by the consequence": {
			pause, Deviations{LeaseWrittenLate: true, Ignore: []string{"RecordedFirst", "NoLostIntent"}}, "OneZoneAtATime", 12,
		},
		"no UID among the preconditions of evictions":                       {evicted, Deviations{Unpinned: true}, "ExactTarget", 15},
		"granted eviction ended while it can still be carried out":          {evicted, Deviations{GrantsEndedEarly: true}, "NoLostIntent", 15},
		"live reads forgotten by webhooks":                                  {twoEvicted, Deviations{LiveReadsForgotten: true}, "WithinBudget", 12},
		"no version among the preconditions of Lease writes":                {two, Deviations{Overwriting: true}, "NoLostIntent", 30},
		"no version among the preconditions of Lease writes, former leader": {newLeader, Deviations{Overwriting: true}, "NoLostIntent", 30},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Explore(tc.config, tc.deviations)
			if report.Violation == nil {
				t.Fatalf("not detected in %d states (%v)", report.States, err)
			}
			t.Logf("%d states\n%v", report.States, report.Violation)
			if got := report.Violation.Rule; got != tc.want {
				t.Errorf("detected by %s, want %s", got, tc.want)
			}
			if got := len(report.Violation.Moves); got > tc.within {
				t.Errorf("the counterexample has %d moves, want at most %d", got, tc.within)
			}
		})
	}
}
