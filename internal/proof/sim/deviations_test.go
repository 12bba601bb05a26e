package sim

import "testing"

// Each control changes what the explorer does in place of internal/act and of the API
// server. The judge of histories must detect the consequence, so names that would only
// restate the change are not judged. make mutants changes the planner, the hold and
// freshness in the source.
func TestEveryDeviationIsDetected(t *testing.T) {
	two := Config{Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, MaxStates: 1_000_000}
	pause := two
	pause.Tracks = [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}}
	passed := two
	passed.Handovers = 1
	evicted := Config{Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{1, 2}, PodDeletes: 1, MaxStates: 1_000_000, Tracks: [][]Edit{{{Evict, 0, 0}}}}
	twoEvicted := Config{
		Zones: 1, Replicas: 3, Budget: 2, Operators: 1, Crashes: 1, MaxStates: 1_000_000, Tracks: [][]Edit{{{Evict, 0, 0}}, {{Evict, 0, 1}}},
	}
	for name, tc := range map[string]struct {
		config Config
		rules  Deviations
		want   string
		within int // maximum number of moves
	}{
		"no preconditions on deletes": {two, Deviations{Unconditional: true}, "ExactTarget", 30},
		"no preconditions on deletes, by what comes of it": {
			two, Deviations{Unconditional: true, Ignore: []string{"ExactTarget", "NotedFirst"}}, "OneZoneAtATime", 30,
		},
		"no version among the preconditions of deletes": {
			pause, Deviations{Versionless: true, Ignore: []string{"ExactTarget", "NotedFirst"}}, "OneZoneAtATime", 30,
		},
		"intent written after the delete": {pause, Deviations{LeaseWrittenLate: true, Ignore: []string{"NoLostIntent"}}, "NotedFirst", 12},
		"intent written after the delete, by what comes of it": {
			pause, Deviations{LeaseWrittenLate: true, Ignore: []string{"NotedFirst", "NoLostIntent"}}, "OneZoneAtATime", 12,
		},
		"no UID among the preconditions of evictions":          {evicted, Deviations{Unpinned: true}, "ExactTarget", 15},
		"an eviction taken for lost while it can still happen": {evicted, Deviations{GrantsEndedEarly: true}, "NoLostIntent", 15},
		"webhooks that forget what a look of theirs has shown": {twoEvicted, Deviations{LiveReadsForgotten: true}, "WithinBudget", 12},
		"Lease written whatever it says":                       {two, Deviations{Overwriting: true}, "NoLostIntent", 30},
		"Lease written whatever it says by who led before":     {passed, Deviations{Overwriting: true}, "NoLostIntent", 30},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Explore(tc.config, tc.rules)
			if report.Violation == nil {
				t.Fatalf("nobody noticed in %d states (%v)", report.States, err)
			}
			t.Logf("%d states\n%v", report.States, report.Violation)
			if got := report.Violation.Rule; got != tc.want {
				t.Errorf("noticed by %s, want %s", got, tc.want)
			}
			if got := len(report.Violation.Moves); got > tc.within {
				t.Errorf("the shortest story has %d moves, want at most %d", got, tc.within)
			}
		})
	}
}
