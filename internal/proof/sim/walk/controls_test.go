package walk

import "testing"

// Each control changes what the walk does in place of internal/act, of internal/control
// and of the API server, and the judge must detect the consequence. make mutants changes
// the planner, the hold, freshness and the Observer in the source.
func TestEveryBentRuleIsNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		rules Rules
		want  string
		from  uint64 // the first seed
	}{
		"no preconditions on deletes":                        {Rules{Unconditional: true}, "ExactTarget", 0},
		"evictions that are not bound to pods":               {Rules{Unpinned: true}, "ExactTarget", 0},
		"intent written after the delete":                    {Rules{NotedLate: true}, "NotedFirst", 0},
		"replicas added before the delete":                   {Rules{RaisedFirst: true}, "RestIsWhole", 1145},
		"Lease written whatever it says":                     {Rules{Overwriting: true}, "NotedFirst", 3},
		"caches not asked again after a read":                {Rules{Unconfirmed: true}, "RestIsWhole", 190},
		"StatefulSets not read before a disruption":          {Rules{Unverified: true}, "StandStill", 1},
		"timers that do not ring":                            {Rules{Sleepy: true}, "Progress", 0},
		"looks without a reason":                             {Rules{Restless: true}, "Rests", 0},
		"zones that left are not looked for":                 {Rules{Blind: true}, "OneZoneAtATime", 0},
		"strangers that are trusted":                         {Rules{Trusting: true}, "ExactTarget", 0},
		"steady clocks that go at three times the true pace": {Rules{HastyClocks: true}, "NotedFirst", 321},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := tc.from; seed < tc.from+1000; seed++ {
				s := Draw(seed)
				s.Rules = tc.rules
				broken := Run(t, s).Broken
				if len(broken) == 0 {
					continue
				}
				t.Logf("seed %d: %s: %s", seed, broken[0].Rule, broken[0].How)
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
func TestASeedIsTheSameHistoryEachTime(t *testing.T) {
	for seed := range uint64(20) {
		a, b := Run(t, Draw(seed)), Run(t, Draw(seed))
		if a.String() != b.String() || a.Days != b.Days {
			t.Errorf("seed %d:\n%v\nand then\n%v", seed, &a, &b)
		}
	}
}

func TestAStoryIsShorterThanItsSchedule(t *testing.T) {
	for seed := range uint64(100) {
		s := Draw(seed)
		s.Rules = Rules{NotedLate: true}
		story := Retell(t, s)
		if story == nil {
			continue
		}
		if len(story.Steps) >= len(s.Steps) || len(story.Lines) == 0 {
			t.Errorf("%d steps of %d are left, and %d lines are told", len(story.Steps), len(s.Steps), len(story.Lines))
		}
		t.Logf("\n%v", story)
		return
	}
	t.Error("nothing to tell")
}
