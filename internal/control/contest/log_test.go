package contest_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/control/contest"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const scenario = "zone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1 leader=zone-a\n zone-b-0 ready@1\n"

// answer carries out a plan in which zone-b gets the replicas of its leader.
func answer(l *contest.Log, s group.Snapshot) []contest.Overwritten {
	l.Fill(&s)
	return l.Planned(s, []plan.Receipt{{Step: group.SetReplicas{Zone: "zone-b", UID: "zone-b", From: 1, To: 2}}})
}

func filled(l *contest.Log, s group.Snapshot) group.Contest {
	l.Fill(&s)
	return s.Zones[1].Contest
}

func TestLogCountsOverwrites(t *testing.T) {
	l, s := contest.NewLog(), fixture.MustParse(scenario)
	if news := answer(l, s); len(news) > 0 {
		t.Errorf("the first write is reported: %v", news)
	}
	for n, unnamed := range []bool{false, false, true} {
		news := answer(l, s)
		if want := []contest.Overwritten{{Zone: "zone-b", UID: "zone-b", Unnamed: unnamed}}; !slices.Equal(news, want) {
			t.Errorf("overwrite %d: got %v, want %v", n+1, news, want)
		}
	}
	l.Name(s.Key, "zone-b", "gitops")
	if news := answer(l, s); len(news) != 1 || news[0].Unnamed {
		t.Errorf("the writer is known, and read again: %v", news)
	}
	if got := filled(l, s); got.Overwrites != 4 || got.Writer != "gitops" {
		t.Errorf("remembered %+v", got)
	}
}

func TestLogDistinguishesRecreatedZones(t *testing.T) {
	l, s := contest.NewLog(), fixture.MustParse(scenario)
	answer(l, s)
	anew := fixture.MustParse("zone-a rev=1\nzone-b rev=1 uid=anew leader=zone-a\n")
	if got := filled(l, anew); !got.None() {
		t.Errorf("a zone that was created again has %+v", got)
	}
	other := fixture.MustParse("group other store\n" + scenario)
	if got := filled(l, other); !got.None() {
		t.Errorf("a zone of another group has %+v", got)
	}
}

func TestLogDropsGroupsAndZones(t *testing.T) {
	l, s := contest.NewLog(), fixture.MustParse(scenario)
	answer(l, s)
	l.Forget(s.Key)
	if got := filled(l, s); !got.None() {
		t.Errorf("remembered %+v", got)
	}
	l.Name(s.Key, "zone-b", "gitops")
	if got := filled(l, s); !got.None() {
		t.Errorf("a name alone is remembered: %+v", got)
	}
	answer(l, s)
	alone := fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1\n")
	l.Fill(&alone)
	l.Planned(alone, nil)
	if got := filled(l, s); !got.None() {
		t.Errorf("a zone that was removed is remembered: %+v", got)
	}
}

// The race detector checks this test.
func TestLogIsSafeForConcurrentUse(t *testing.T) {
	l := contest.NewLog()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s := fixture.MustParse(scenario)
			for range 100 {
				answer(l, s)
				l.Name(s.Key, "zone-b", "gitops")
				filled(l, s)
				l.Forget(s.Key)
			}
		})
	}
	all.Wait()
}
