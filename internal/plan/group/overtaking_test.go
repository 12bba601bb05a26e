package group_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const (
	fives = `
zone-a rev=1
  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 ready@1 zone-a-4 ready@1
zone-b rev=1
  zone-b-0 ready@1 zone-b-1 ready@1 zone-b-2 ready@1 zone-b-3 ready@1 zone-b-4 ready@1
`
	fivesAndARollout = `
zone-a rev=1
  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 ready@1 zone-a-4 ready@1
zone-b rev=2 current=1
  zone-b-0 ready@1 zone-b-1 ready@1 zone-b-2 ready@1 zone-b-3 ready@1 zone-b-4 ready@1
`
	byOrdinal = "zpdb store regex=\"zone-.-([0-9]+)\"\n"
)

// away is how many seconds an evicted pod is not Ready. Another node has room for it.
const away = 30

// moving is a world in which evicted pods start on another node after a while.
type moving struct {
	*fixture.World
	second int
	longer map[string]int // how many seconds longer than others a pod is away
	back   map[string]int
	gone   map[string]int // when each pod was last evicted
}

func newMoving(world string) *moving {
	return &moving{World: fixture.NewWorld(fixture.MustParse(world)), back: map[string]int{}, gone: map[string]int{}}
}

// drain requests the eviction of each of these pods that is up and was not evicted yet. It
// requests each pod every five seconds, and one pod a second, as kubectl does after the
// first answers.
func (m *moving) drain(pods []string) {
	for i, name := range pods {
		if _, gone := m.gone[name]; !gone && m.second%5 == i%5 {
			m.wants(name)
		}
	}
}

// wants requests the eviction of a pod once, if the pod is up, and reports whether it was
// evicted.
func (m *moving) wants(name string) bool {
	s := m.Snapshot()
	if pod, exists := s.Pod(name); !exists || !pod.Up() {
		return false
	}
	p := m.Drain(name)
	if !p.Allowed() || !p.NeedsRecord() {
		return false
	}
	m.Leave(name)
	m.Stuck[name], m.back[name], m.gone[name] = true, m.second+away+m.longer[name], m.second
	return true
}

// tick advances the time by one second.
func (m *moving) tick() {
	m.Round()
	m.Tick()
	m.second++
	for name, at := range m.back {
		if at == m.second {
			delete(m.Stuck, name)
			delete(m.back, name)
		}
	}
}

func podsOf(zone string) (pods []string) {
	for ordinal := range 5 {
		pods = append(pods, fmt.Sprint(zone, "-", ordinal))
	}
	return pods
}

// drained returns after how many seconds the last of five pods of zone-a is evicted, while
// other acts in each second.
func drained(t *testing.T, world string, other func(m *moving)) int {
	t.Helper()
	m := newMoving(world)
	for m.second < 3600 {
		m.drain(podsOf("zone-a"))
		other(m)
		if len(m.Violations) > 0 {
			t.Fatal(m.Violations)
		}
		if left := slices.DeleteFunc(podsOf("zone-a"), func(pod string) bool { _, gone := m.gone[pod]; return !gone }); len(left) == 5 {
			return m.second
		}
		m.tick()
	}
	t.Fatalf("zone-a is not drained after an hour: %v left", m.gone)
	return 0
}

// To stop a zone that is unavailable anyway has no benefit: an operation that waits cannot
// continue before the evicted pods are back. So two drains take turns in which each of them
// may use its budget. Together they take twice as long as one alone.
func TestADrainUsesItsBudgetWhileAnotherZoneWaits(t *testing.T) {
	alone := func(*moving) {}
	for _, budget := range []string{"zpdb store limit=2\n", "zpdb store limit=3\n", "zpdb store percent=40\n", "zpdb store percent=60\n"} {
		for sentence, tc := range map[string]struct {
			world string
			other func(m *moving)
			most  func(alone int) int
		}{
			"another zone that is drained": {
				fives,
				func(m *moving) { m.drain(podsOf("zone-b")) },
				func(alone int) int { return 2*alone + away },
			},
			"another zone whose pods are evicted without an end": {
				fives,
				func(m *moving) { m.wants(podsOf("zone-b")[m.second%5]) },
				func(alone int) int { return 3 * alone },
			},
			"another zone that requested one eviction": {
				fives,
				func(m *moving) {
					if m.second == 0 {
						m.wants("zone-b-0")
					}
				},
				func(alone int) int { return alone + 10 },
			},
			"another zone that is rolled": {fivesAndARollout, alone, func(alone int) int { return alone + 2*10 }},
		} {
			t.Run(sentence+", "+budget, func(t *testing.T) {
				alone, both := drained(t, budget+fives, alone), drained(t, budget+tc.world, tc.other)
				t.Logf("%d s alone, %d s with the other", alone, both)
				if most := tc.most(alone); both > most {
					t.Errorf("the last pod is evicted after %d s, and after %d s if no other zone waits; want at most %d s", both, alone, most)
				}
			})
		}
	}
}

func TestDrainsByPartitionGoOnWhileARolloutWaitsForTheEvictedPods(t *testing.T) {
	alone, both := drained(t, byOrdinal+fives, func(*moving) {}), drained(t, byOrdinal+fivesAndARollout, func(*moving) {})
	if both > alone+20 {
		t.Errorf("the last pod is evicted after %d s, and after %d s if no other zone waits", both, alone)
	}
}

// An operation that waits has its turn once two kinds of pods are back: pods evicted before
// its request, and pods evicted meanwhile. Neither drains that follow each other nor a rollout
// with evictions delay it for longer.
func TestAZoneHasItsTurnHoweverManyOthersOvertakeIt(t *testing.T) {
	const rolling = "zone-a rev=2 current=1 budget=5\n  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 ready@1 zone-a-4 ready@1\n" +
		"zone-b rev=1\n  zone-b-0 ready@1 zone-b-1 ready@1\n"
	for sentence, world := range map[string]string{
		"a limit of 1":                  "zpdb store limit=1\n" + fives,
		"a limit of 2":                  "zpdb store limit=2\n" + fives,
		"a limit of 3":                  "zpdb store limit=3\n" + fives,
		"a limit of all":                "zpdb store limit=5\n" + fives,
		"a percentage":                  "zpdb store percent=40\n" + fives,
		"a rollout of the drained zone": "zpdb store limit=2\n" + rolling,
	} {
		t.Run(sentence, func(t *testing.T) {
			m := newMoving(world)
			m.longer = map[string]int{"zone-a-1": 7, "zone-a-2": 11, "zone-a-3": 3, "zone-a-4": away}
			asks, longest, turns := 0, 0, 0
			for m.second < 3600 {
				for _, name := range podsOf("zone-a") {
					m.wants(name)
				}
				if called := m.second >= asks && m.second%5 == 3; called && m.wants("zone-b-0") {
					longest, turns = max(longest, m.second-asks), turns+1
					asks = m.second + away + 10
				}
				m.tick()
			}
			t.Logf("%d turns, the longest wait %d s", turns, longest)
			if most := 2*2*away + 15; longest > most || turns < 3600/(most+away+10) {
				t.Errorf("zone-b had %d turns and waited for up to %d s; want at most %d s", turns, longest, most)
			}
			if len(m.Violations) > 0 {
				t.Error(m.Violations)
			}
		})
	}
}

// A rollout that overtakes records this in the hold. So does the repair of a pod that
// overtook. Otherwise each pod would let the next one follow, without end.
func TestAPodThatIsRolledBeforeOthersIsRecordedAsSuch(t *testing.T) {
	const waits = "  waiting eviction/zone-b since 10s seen 1s\n"
	const zones = "zone-a rev=2 current=1 budget=2\n  zone-a-0 failing@1 zone-a-1 ready@1\nzone-b rev=1\n  zone-b-0 ready@1\n"
	for sentence, tc := range map[string]struct {
		hold string
		want map[string]bool // by pod
	}{
		"no zone waits":                            {"hold rollout/zone-a\n  intent zone-a-0\n", map[string]bool{"zone-a-0": false, "zone-a-1": false}},
		"another zone waits":                       {"hold rollout/zone-a\n  intent zone-a-0\n" + waits, map[string]bool{"zone-a-0": false, "zone-a-1": true}},
		"the failing pod overtook":                 {"hold rollout/zone-a\n  intent zone-a-0 uid=former version=5 overtook\n" + waits, map[string]bool{"zone-a-0": true}},
		"a pod that is not ready and not recorded": {"hold rollout/zone-a\n" + waits, map[string]bool{"zone-a-0": false, "zone-a-1": true}},
		"a person held the group by that name":     {"hold manual/zone-a renewed 5m ago\n" + waits, map[string]bool{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("live\n" + tc.hold + zones)
			got := map[string]bool{}
			for _, i := range hold.Decide(&s, group.Plan(s)).Record.Intents {
				got[i.Pod] = i.Overtook
			}
			if !maps.Equal(got, tc.want) {
				t.Errorf("recorded pods, and whether they overtook: %v, want %v", got, tc.want)
			}
		})
	}
}

// Users rely on a deadline that they read.
func TestAPlaceInTheQueueHasNoDeadline(t *testing.T) {
	until := fixture.Now().Add(plan.TurnLimit)
	if got := (plan.Refusal{Code: reason.QueuedBehindOtherZone, Until: until}).Deadline(); !got.IsZero() {
		t.Errorf("a zone that asks repeatedly is said to wait until %s", got)
	}
	if got := (plan.Refusal{Code: reason.Paused, Until: until}).Deadline(); !got.Equal(until) {
		t.Errorf("a pause is over at %s, want %s", got, until)
	}
}
