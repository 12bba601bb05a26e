package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/history"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const (
	traced = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	unseen = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-00" // not sampled

	twoZones = `
zone-a rev=2 current=1 budget=1
  zone-a-0 ready@1 zone-a-1 ready@1
zone-b rev=2 current=1 budget=2
  zone-b-0 ready@1 zone-b-1 ready@1
`
)

func world(text, trace string) *fixture.World {
	w := fixture.NewWorld(fixture.MustParse(text))
	w.Remember = func(r plan.Rollouts) plan.Rollouts {
		if r.Current.Begun() {
			r.Current.Trace = trace
		}
		return r
	}
	return w
}

// run runs the operator until the group reaches its goal.
func run(t *testing.T, w *fixture.World, before ...func(second int)) plan.Rollouts {
	t.Helper()
	for second := range 300 {
		for _, happen := range before {
			happen(second)
		}
		steps, _ := w.Round()
		s := w.Snapshot()
		if len(steps) == 0 && fixture.AtGoal(s) && second > 50 {
			if len(w.Violations) > 0 {
				t.Fatal(w.Violations)
			}
			return s.Hold.Rollouts
		}
		w.Tick()
	}
	t.Fatalf("the group does not reach its goal: %+v", w.Snapshot())
	return plan.Rollouts{}
}

// formatted formats the recorded rollouts with seconds since the beginning.
func formatted(r plan.Rollouts) string {
	var text strings.Builder
	second := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprint(t.Sub(fixture.Now()).Seconds())
	}
	add := func(state string, g plan.RolledGroup) {
		fmt.Fprintf(&text, "%s %s..%s\n", state, second(g.Since), second(g.Until))
		for _, z := range g.Zones {
			fmt.Fprintf(&text, "  %s %s->%s %s..%s replaced %d\n", z.Name, z.From, z.To, second(z.Since), second(z.Until), z.Replaced)
			for _, p := range z.Pods {
				fmt.Fprintf(&text, "    %s (%s) deleted %s recreated %s ready %s\n", p.Name, p.UID, second(p.Deleted), second(p.Recreated), second(p.Ready))
			}
		}
	}
	if r.Current.Begun() {
		add("current", r.Current)
	}
	for _, g := range r.Finished {
		add("finished", g)
	}
	return "\n" + text.String()
}

func same(t *testing.T, want string, got plan.Rollouts) {
	t.Helper()
	if diff := cmp.Diff(want, formatted(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const twoZonesRecord = `
finished 0..9
  zone-a 1->2 0..6 replaced 2
    zone-a-0 (zone-a-0) deleted 0 recreated 2 ready 3
    zone-a-1 (zone-a-1) deleted 3 recreated 5 ready 6
  zone-b 1->2 6..9 replaced 2
    zone-b-0 (zone-b-0) deleted 6 recreated 8 ready 9
    zone-b-1 (zone-b-1) deleted 6 recreated 8 ready 9
`

func TestARolloutIsRememberedWithItsZonesAndPods(t *testing.T) {
	same(t, twoZonesRecord, run(t, world(twoZones, traced)))
}

// The record comes from the Lease and from API objects, so a process without memory computes the same record.
func TestEveryLeaderRecordsTheSameRollout(t *testing.T) {
	w := world(twoZones, traced)
	same(t, twoZonesRecord, run(t, w, func(int) { w.Forget() }))
}

// Each leader has its own clock, which may be slow.
func TestTimesAreInOrderWhateverTheClocksOfLeaders(t *testing.T) {
	for _, trace := range []string{traced, ""} {
		var now plan.Rollouts
		for second, behind := range []time.Duration{0, time.Hour, time.Minute, 0, 2 * time.Hour} {
			s := fixture.MustParse(twoZones)
			s.Now = s.Now.Add(time.Duration(second)*time.Second - behind)
			s.Hold.Rollouts = now
			record := group.Hold{Hold: plan.Hold{Holder: plan.RolloutOperation.For("zone-a")}}
			switch second {
			case 2: // its pod was replaced, and its template changes again
				deleted := plan.Intent{Zone: "zone-a", Pod: "zone-a-0", UID: "former", Cause: reason.OutdatedRevision, Since: s.Now}
				s.Hold.Intents = []plan.Intent{deleted}
				s.Zones[0].UpdateRevision = "3"
			case 3:
				record.Holder = plan.RolloutOperation.For("zone-b")
			case 4:
				for i := range s.Zones {
					s.Zones[i].UpdateRevision = "1"
				}
				record.Holder = ""
			}
			now = history.Next(&s, record.Record())
			if now.Current.Begun() {
				now.Current.Trace = trace
			}
		}
		if len(now.Finished) != 1 || len(now.Finished[0].Zones) != 3 || now.Finished[0].Zones[0].Replaced+now.Finished[0].Zones[1].Replaced != 1 {
			t.Fatalf("the case does not test what it should: %s", formatted(now))
		}
		group := now.Finished[0]
		inOrder := func(name string, times ...time.Time) {
			if !slices.IsSortedFunc(times, time.Time.Compare) {
				t.Errorf("%s is out of order: %s", name, formatted(now))
			}
		}
		for _, z := range group.Zones {
			inOrder(z.Name, group.Since, z.Since, z.Until, group.Until)
			for _, p := range z.Pods {
				inOrder(p.Name, z.Since, p.Deleted, p.Recreated, p.Ready, z.Until)
			}
		}
	}
}

func TestPodsAreRememberedForTracesOnly(t *testing.T) {
	for _, trace := range []string{"", unseen} {
		same(t, `
finished 0..9
  zone-a 1->2 0..6 replaced 2
  zone-b 1->2 6..9 replaced 2
`, run(t, world(twoZones, trace)))
	}
}

func TestANewTemplateInTheMiddleIsAnotherWayOfTheZone(t *testing.T) {
	w := world(twoZones, "")
	same(t, `
finished 0..14
  zone-a 1->2 0..5 replaced 2
  zone-a 2->3 5..11 replaced 2
  zone-b 1->3 11..14 replaced 2
`, run(t, w, func(second int) {
		if second == 5 {
			w.Zones(func(z *group.Zone) { z.UpdateRevision = "3" })
		}
	}))
}

func TestARollbackReadsAsOne(t *testing.T) {
	w := world(twoZones, "")
	same(t, `
finished 0..11
  zone-a 1->2 0..5 replaced 2
  zone-a 2->1 5..11 replaced 2
`, run(t, w, func(second int) {
		if second == 5 {
			w.Zones(func(z *group.Zone) { z.UpdateRevision = "1" })
		}
	}))
}

func TestAnInterruptionDoesNotEndARollout(t *testing.T) {
	w := world(twoZones, "")
	same(t, `
finished 0..43
  zone-a 1->2 0..6 replaced 2
  zone-b 1->2 40..43 replaced 2
`, run(t, w, func(second int) {
		switch second {
		case 5:
			w.Zone("zone-b", func(z *group.Zone) { z.Paused = true })
		case 20:
			w.Zone("zone-a", func(z *group.Zone) { z.Forced = group.Force{Given: true, Replicas: 1} })
		case 40:
			w.Zone("zone-b", func(z *group.Zone) { z.Paused = false })
		}
	}))
}

// While all outdated zones are paused, no operation has the hold. If the templates are then reverted, no
// operation takes it.
func TestAnAbandonedRolloutEndsWhileTheHoldIsFree(t *testing.T) {
	w := world(twoZones, "")
	same(t, `
finished 0..20
  zone-a 1->2 0..6 replaced 2
`, run(t, w, func(second int) {
		switch second {
		case 5:
			w.Zone("zone-b", func(z *group.Zone) { z.Paused = true })
		case 20:
			w.Zone("zone-b", func(z *group.Zone) { z.UpdateRevision = "1" })
		}
	}))
}

func TestTheRecordedBudgetIsTheBudgetOfTheRollout(t *testing.T) {
	for zpdb, want := range map[string]int{"": 3, "zpdb store limit=2\n": 2, "zpdb store limit=5\n": 3} {
		s := fixture.MustParse(zpdb + "zone-a rev=2 current=1 budget=3\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 ready@1")
		got := history.Next(&s, group.Hold{Hold: plan.Hold{Holder: plan.RolloutOperation.For("zone-a")}}.Record()).Current.Zones[0].Budget
		if got != want {
			t.Errorf("%q: %d pods, want %d", zpdb, got, want)
		}
	}
}

// A version that did not record rollouts may have begun this one.
func TestARolloutBeginsWhenItsHoldWasTaken(t *testing.T) {
	earlier := fixture.Now().Add(-time.Hour)
	for holder, want := range map[plan.Holder]time.Time{"rollout/zone-a": earlier, "rollout/zone-b": fixture.Now(), "": fixture.Now()} {
		s := fixture.MustParse(twoZones)
		s.Hold.Exists, s.Hold.Holder, s.Hold.Since = true, holder, earlier
		got := history.Next(&s, group.Hold{Hold: plan.Hold{Holder: plan.RolloutOperation.For("zone-a")}}.Record())
		if !got.Current.Since.Equal(want) {
			t.Errorf("after %q it begins %s from now, want %s", holder, got.Current.Since.Sub(fixture.Now()), want.Sub(fixture.Now()))
		}
	}
}

func TestAZoneIsNotDoneWhileADeleteOfItsPodsIsRecorded(t *testing.T) {
	s := fixture.MustParse("hold rollout/zone-b\nzone-a rev=2\n zone-a-0 ready@2\nzone-b rev=2 current=1\n zone-b-0 ready@1\n")
	s.Hold.Rollouts.Current = plan.RolledGroup{Since: fixture.Now(), Zones: []plan.RolledZone{{Name: "zone-a", UID: s.Zones[0].UID, To: "2", Since: fixture.Now()}}}
	for _, intents := range [][]plan.Intent{{fixture.IntentOf("zone-a-0")}, nil} {
		next := group.Hold{Hold: plan.Hold{Holder: plan.RolloutOperation.For("zone-b"), Intents: intents}}
		got := history.Next(&s, next.Record()).Current.Zones[0]
		if got.Over() != (len(intents) == 0) {
			t.Errorf("with %d intents, zone-a is over: %t", len(intents), got.Over())
		}
	}
}

// No write follows the one that releases the hold until there is work again.
func TestARolloutEndsAlthoughAZoneHasJustBeenTouched(t *testing.T) {
	for situation, ends := range map[string]bool{"zone-b-0 ready@2": true, "zone-b-0 ready@1": false} {
		s := fixture.MustParse("hold rollout/zone-a\nzone-a rev=2\n zone-a-0 ready@2\nzone-b rev=2\n " + situation)
		s.Zones[1].Observed = false
		s.Hold.Rollouts.Current = plan.RolledGroup{Since: fixture.Now(), Zones: []plan.RolledZone{{Name: "zone-a", UID: s.Zones[0].UID, Since: fixture.Now()}}}
		if got := history.Next(&s, group.Hold{}.Record()); got.Current.Begun() == ends || len(got.Finished) == 1 != ends {
			t.Errorf("%s: got %s", situation, formatted(got))
		}
	}
}

// Another StatefulSet with the same name is another zone.
func TestAZoneThatIsCreatedAgainHasANewHistory(t *testing.T) {
	w := world("zone-a rev=2 current=1\n zone-a-0 ready@1 zone-a-1 ready@1", "")
	same(t, `
finished 0..9
  zone-a 1->2 0..3 replaced 1
  zone-a 1->2 3..9 replaced 2
`, run(t, w, func(second int) {
		if second == 3 {
			w.Zone("zone-a", func(z *group.Zone) {
				z.UID = "another"
				for i := range z.Pods {
					z.Pods[i].Revision = "1"
				}
			})
		}
	}))
}

func TestTheLastRolloutsAreRememberedTheNewestFirst(t *testing.T) {
	w := world("zone-a rev=1 current=1\n zone-a-0 ready@1", "")
	rollouts := history.MaxFinished + 2
	for n := range rollouts {
		w.Zones(func(z *group.Zone) { z.UpdateRevision = fmt.Sprint(n + 2) })
		run(t, w)
	}
	finished := w.Snapshot().Hold.Rollouts.Finished
	if len(finished) != history.MaxFinished || finished[0].Zones[0].To != fmt.Sprint(rollouts+1) || finished[history.MaxFinished-1].Zones[0].To != "4" {
		t.Errorf("got %s", formatted(plan.Rollouts{Finished: finished}))
	}
}

func TestAPodIsReadyWhenAProcessSawThat(t *testing.T) {
	began := fixture.Now()
	at := func(after time.Duration) time.Time { return began.Add(after) }
	const deleted, now = 100 * time.Millisecond, 4200 * time.Millisecond
	for sentence, tc := range map[string]struct {
		created, ready         time.Duration // the times in API objects
		seenCreated, seenReady time.Duration // 0 if no process observed it
		wantCreated, wantReady time.Duration
	}{
		"at the times that a process saw":           {time.Second, 3 * time.Second, 1700 * time.Millisecond, 3900 * time.Millisecond, 1700 * time.Millisecond, 3900 * time.Millisecond},
		"seen in the following second":              {time.Second, 3 * time.Second, 2100 * time.Millisecond, 4100 * time.Millisecond, 2100 * time.Millisecond, 4100 * time.Millisecond},
		"not seen: the times of the pod":            {time.Second, 3 * time.Second, 0, 0, time.Second, 3 * time.Second},
		"seen before the second of the pod's time":  {time.Second, 3 * time.Second, 500 * time.Millisecond, 2900 * time.Millisecond, time.Second, 3 * time.Second},
		"seen after the next delete":                {time.Second, 3 * time.Second, time.Second, 5 * time.Second, time.Second, now},
		"not seen, and the clock of a node is fast": {time.Second, 9 * time.Second, time.Second, 0, time.Second, now},
		"seen before the delete":                    {0, 0, 50 * time.Millisecond, 60 * time.Millisecond, deleted, deleted},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("hold rollout/zone-a\nzone-a rev=2 current=1\n zone-a-0 ready@2 zone-a-1 ready@1\n")
			s.Now = at(now)
			s.Hold.Rollouts.Current = plan.RolledGroup{Trace: traced, Since: began, Zones: []plan.RolledZone{{Name: "zone-a", UID: s.Zones[0].UID, From: "1", To: "2", Since: began}}}
			s.Hold.Intents = []plan.Intent{{Zone: "zone-a", Pod: "zone-a-0", UID: "former", Cause: reason.OutdatedRevision, Since: at(deleted)}}
			pod := &s.Zones[0].Pods[0]
			pod.Created, pod.ReadySince = plan.UnixTimeOf(at(tc.created)), at(tc.ready)
			if tc.seenCreated != 0 {
				pod.Seen.Created = plan.SightingOf(at(tc.created), at(tc.seenCreated))
			}
			if tc.seenReady != 0 {
				pod.Seen.Ready = plan.SightingOf(at(tc.ready), at(tc.seenReady))
			}
			next := history.Next(&s, group.Hold{Hold: plan.Hold{Holder: "rollout/zone-a", Intents: []plan.Intent{{Zone: "zone-a", Pod: "zone-a-1", UID: "next", Since: s.Now}}}}.Record())
			want := []plan.RolledPod{{
				Name: "zone-a-0", UID: "former", Cause: reason.OutdatedRevision,
				Deleted: at(deleted), Recreated: at(tc.wantCreated), Ready: at(tc.wantReady), Seen: tc.seenReady != 0,
			}}
			if diff := cmp.Diff(want, next.Current.Zones[0].Pods); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A pod that never becomes Ready is replaced again once the template is fixed.
func TestAPodThatNeverBecameReadyIsRememberedAsSuch(t *testing.T) {
	w := world("zone-a rev=2 current=1\n zone-a-0 ready@1", traced)
	w.Bad["2"] = true
	same(t, `
finished 0..23
  zone-a 1->2 0..20 replaced 1
    zone-a-0 (zone-a-0) deleted 0 recreated 2 ready -
  zone-a 2->3 20..23 replaced 1
    zone-a-0 (zone-a-0/1) deleted 20 recreated 22 ready 23
`, run(t, w, func(second int) {
		if second == 20 {
			w.Zones(func(z *group.Zone) { z.UpdateRevision = "3" })
		}
	}))
}

// Next must not modify data that snapshots share.
func TestRecordedRolloutsAreNotChangedInPlace(t *testing.T) {
	w := world(twoZones, traced)
	run(t, w, func(int) {
		s := w.Snapshot()
		before := formatted(s.Hold.Rollouts)
		record := s.Hold
		record.Holder, record.Intents = plan.RolloutOperation.For("zone-b"), nil
		s.Now = s.Now.Add(time.Hour)
		history.Next(&s, record.Record())
		if diff := cmp.Diff(before, formatted(s.Hold.Rollouts)); diff != "" {
			t.Fatalf("(-before +after)\n%s", diff)
		}
	})
}

func TestTheOldestIsForgottenFirst(t *testing.T) {
	group := func(n int, zones ...int) plan.RolledGroup {
		g := plan.RolledGroup{Since: fixture.Now().Add(time.Duration(-n) * time.Hour)}
		for _, pods := range zones {
			z := plan.RolledZone{Name: fmt.Sprint(n)}
			for pod := range pods {
				z.Pods = append(z.Pods, plan.RolledPod{Name: fmt.Sprint(pod), Cause: reason.OutdatedRevision})
			}
			g.Zones = append(g.Zones, z)
		}
		return g
	}
	pods := func(g plan.RolledGroup) []int {
		var counts []int
		for _, z := range g.Zones {
			counts = append(counts, len(z.Pods))
		}
		return counts
	}
	got := history.Bounded(plan.Rollouts{Current: group(0, 50, 40), Finished: []plan.RolledGroup{group(1, 7, 8), group(2, 9)}})
	all := [][]int{pods(got.Current), pods(got.Finished[0]), pods(got.Finished[1])}
	if want := [][]int{{50, 40}, {2, 8}, {0}}; !cmp.Equal(all, want) {
		t.Errorf("got %v pods, want %v", all, want)
	}
	if last := got.Finished[0].Zones[0].Pods; last[0].Name != "5" {
		t.Errorf("want the latest of the pods, got %v", last)
	}
	many := history.Bounded(plan.Rollouts{Current: group(0, slices.Repeat([]int{0}, 98)...), Finished: []plan.RolledGroup{group(1, 0), group(2, 0, 0), group(3, 0)}})
	if len(many.Finished) != 1 || len(many.Current.Zones) != 98 {
		t.Errorf("got %d finished rollouts and %d zones", len(many.Finished), len(many.Current.Zones))
	}
}
