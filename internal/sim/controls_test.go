package sim

import (
	"slices"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Each control bends one rule. The consequence must be noticed by the judge of
// histories, so the check of single plans is off, and so are the names that
// would only restate what was bent.
func TestEveryBentRuleIsNoticed(t *testing.T) {
	two := Config{Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, MaxStates: 1_000_000}
	crash := two
	crash.Templates, crash.Crashes = []int{2, 1}, 1
	pause := two
	pause.Tracks = [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}}
	expiry := pause
	expiry.Minutes = 1
	for name, tc := range map[string]struct {
		config Config
		rules  Rules
		want   string
		within int // moves
	}{
		"budget counted without intents": {
			Config{
				Zones: 1, Replicas: 2, Budget: 1, Operators: 2, MaxStates: 1_000_000,
				Templates: []int{2}, Pods: [][]int{{1, 2}}, Tracks: [][]Edit{{{Template, 0, 1}}},
			},
			Rules{Plan: withoutIntents, Unchecked: true}, "WithinBudget", 16,
		},
		"no preconditions on deletes": {
			two, Rules{Unconditional: true, Ignore: []string{"ExactTarget", "NotedFirst"}}, "OneZoneAtATime", 30,
		},
		"intent written after the delete": {
			pause, Rules{NotedLate: true, Ignore: []string{"NotedFirst", "NoLostIntent"}}, "OneZoneAtATime", 12,
		},
		"intent dropped by time alone": {
			expiry,
			Rules{See: forgetsAfterAMinute, Unchecked: true, Ignore: []string{"NotedFirst", "NoLostIntent"}}, "OneZoneAtATime", 14,
		},
		"intent dropped when its UID is missing from the cache": {
			Config{
				Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Kills: 1, OldCaches: true, MaxStates: 1_000_000,
				Templates: []int{2}, Pods: [][]int{{2, 1}}, Tracks: [][]Edit{{{Template, 0, 3}, {Template, 0, 4}}},
			},
			Rules{See: forgetsWhatItDoesNotSee, Cover: neverLooks, Unchecked: true}, "WithinBudget", 30,
		},
		"hold taken without a live look": {
			crash, Rules{Cover: neverLooks}, "RestIsWhole", 3,
		},
		"expired hold taken over without a look": {
			expiry,
			Rules{
				See: seizesExpired, Cover: looksUnlessExpired, Unchecked: true, Ignore: []string{"NotedFirst", "NoLostIntent"},
			}, "OneZoneAtATime", 20,
		},
		"another zone that is not whole ignored on the live look": {
			crash, Rules{See: seesOthersWhole, Unchecked: true}, "RestIsWhole", 6,
		},
		"a hold that is never given back": {
			Config{Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, MaxStates: 1_000_000},
			Rules{Plan: neverReleases}, "Progress", 0,
		},
		"caches older than the last look decide": {
			Config{
				Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Kills: 1, Crashes: 1, Minutes: 1,
				Templates: []int{2, 2}, MaxStates: 1_000_000,
			},
			Rules{Forgetful: true}, "WithinBudget", 18,
		},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Explore(tc.config, tc.rules)
			if report.Broken == nil {
				t.Fatalf("nobody noticed in %d states (%v)", report.States, err)
			}
			t.Logf("%d states\n%v", report.States, report.Broken)
			if got := report.Broken.Rule; got != tc.want {
				t.Errorf("noticed by %s, want %s", got, tc.want)
			}
			if got := len(report.Broken.Lines); got > tc.within {
				t.Errorf("the shortest story has %d moves, want at most %d", got, tc.within)
			}
		})
	}
}

func withoutIntents(s plan.Snapshot) []plan.Action {
	s.Hold.Intents = nil
	return plan.Group(s)
}

func neverReleases(s plan.Snapshot) []plan.Action {
	return slices.DeleteFunc(plan.Group(s), func(a plan.Action) bool {
		_, releases := a.(plan.Release)
		return releases
	})
}

func forgetsAfterAMinute(s plan.Snapshot) plan.Snapshot {
	if s.Hold.Expired(s.Now) {
		s.Hold.Intents = nil
	}
	return s
}

func forgetsWhatItDoesNotSee(s plan.Snapshot) plan.Snapshot {
	var kept []plan.Intent
	for _, i := range s.Hold.Intents {
		if p, ok := s.Pod(i.Pod); ok && p.UID == i.UID {
			kept = append(kept, i)
		}
	}
	s.Hold.Intents = kept
	return s
}

func neverLooks(s plan.Snapshot, steps []plan.Action) hold.Decision {
	s.Live = true
	return hold.Cover(s, steps)
}

func seizesExpired(s plan.Snapshot) plan.Snapshot {
	if s.Hold.Expired(s.Now) {
		s.Hold.Holder, s.Hold.Intents = "", nil
	}
	return s
}

func looksUnlessExpired(s plan.Snapshot, steps []plan.Action) hold.Decision {
	if s.Hold.Exists && s.Hold.Expired(s.Now) {
		s.Live = true
	}
	return hold.Cover(s, steps)
}

// seesOthersWhole shows, on a live look, every zone whole but the one that has
// outdated pods.
func seesOthersWhole(s plan.Snapshot) plan.Snapshot {
	if !s.Live {
		return s
	}
	for n, z := range s.Zones {
		outdated := false
		for _, p := range z.Pods {
			outdated = outdated || z.Outdated(p)
		}
		if outdated {
			continue
		}
		pods := make([]plan.Pod, z.Replicas)
		for o := range pods {
			pods[o] = plan.Pod{
				Name: plan.PodName(z.Name, o), Ordinal: o, UID: "1", Version: 1, Revision: z.UpdateRevision, Phase: plan.Ready,
			}
		}
		s.Zones[n].Pods = pods
	}
	return s
}
