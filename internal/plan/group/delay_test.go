package group_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const delay = time.Minute

// delayJudge judges delays by events, independently of the records in the hold. For each pod it
// keeps since when, without interruption, the pod has acknowledged its removal, and since when the pod
// was Ready when it last acknowledged.
type delayJudge struct {
	since map[string]time.Time
	ready map[string]time.Time
}

// saw observes a round that began with s, and returns the violation, if any.
func (w *delayJudge) saw(s group.Snapshot, steps []plan.Action, silent map[string]bool) string {
	z := s.Zones[0]
	for _, pod := range z.Pods {
		if pod.Ordinal < z.Mirror.Scale.Replicas || pod.Ordinal >= z.Replicas {
			delete(w.since, pod.UID)
		}
	}
	for _, step := range steps {
		if a, notifies := step.(group.NotifyPods); notifies && a.Message == group.Leave {
			w.notified(s.Now, a.Pods, silent)
		}
	}
	for _, step := range steps {
		if a, is := step.(group.SetReplicas); is && a.To < a.From {
			return w.scaledDown(s.Now, z, a)
		}
	}
	return ""
}

func (w *delayJudge) notified(now time.Time, pods []plan.Pod, silent map[string]bool) {
	for _, pod := range pods {
		if silent[pod.Name] {
			continue
		}
		w.ready[pod.UID] = pod.ReadySince
		if _, known := w.since[pod.UID]; !known {
			w.since[pod.UID] = now
		}
	}
}

func (w *delayJudge) scaledDown(now time.Time, z group.Zone, a group.SetReplicas) string {
	for place := a.To; place < a.From; place++ {
		pod := z.Pods[slices.IndexFunc(z.Pods, func(p plan.Pod) bool { return p.Ordinal == place })]
		since, acknowledged := w.since[pod.UID]
		said := now.Sub(z.Notifications[pod.UID].Since)
		if waited := now.Sub(since); !acknowledged || waited < delay || said < delay {
			return fmt.Sprintf("%s is removed after %s (acknowledged: %t), %s after the time in its answer", pod.Name, waited, acknowledged, said)
		}
		if w.ready[pod.UID] != pod.ReadySince {
			return fmt.Sprintf("%s is removed because of an answer from before it was restarted", pod.Name)
		}
	}
	return ""
}

// No pod is removed before it has acknowledged, without interruption, for as long as the delay. That is
// true for any order of answers, crashes, failed writes, changed requests and clocks of pods.
func TestNoPodIsRemovedBeforeItsDelayHasPassed(t *testing.T) {
	removed := 0
	rapid.Check(t, func(t *rapid.T) {
		w := fixture.NewWorld(delayedZone())
		judge := delayJudge{since: map[string]time.Time{}, ready: map[string]time.Time{}}
		replicas := 5
		for range rapid.IntRange(5, 60).Draw(t, "rounds") {
			happen(t, w)
			before := w.Snapshot()
			done, carried := legalRound(t, w)
			if wrong := judge.saw(before, done, w.Silent); wrong != "" {
				t.Fatal(wrong)
			}
			removed += max(0, replicas-carried.Zones[0].Replicas)
			replicas = carried.Zones[0].Replicas
			w.Tick()
		}
	})
	if removed == 0 {
		t.Error("no pod was ever removed")
	}
}

// legalRound makes a round that must break no rule. It returns the actions that happened and
// the snapshot after them.
func legalRound(t *rapid.T, w *fixture.World) ([]plan.Action, group.Snapshot) {
	before := w.Snapshot()
	steps, _ := w.Round()
	if len(w.Violations) > 0 {
		t.Fatalf("a plan breaks a rule: %v", w.Violations)
	}
	after := w.Snapshot()
	return happened(steps, before, after), after
}

// happened returns the actions of a plan without those that a crash or a failed write
// prevented.
func happened(steps []plan.Action, before, after group.Snapshot) []plan.Action {
	return slices.DeleteFunc(slices.Clone(steps), func(step plan.Action) bool {
		if a, notifies := step.(group.NotifyPods); notifies {
			return after.Zones[0].Notifications[a.Pods[0].UID].At != before.Now
		}
		_, sizes := step.(group.SetReplicas)
		return sizes && before.Zones[0].Replicas == after.Zones[0].Replicas
	})
}

func delayedZone() group.Snapshot {
	s := fixture.Group(fixture.Zone("zone-a", "1", fixture.Pods("1", "1", "1", "1", "1"), fixture.Mirrors("web", 5), fixture.Delays(delay)))
	for i := range s.Zones[0].Pods {
		s.Zones[0].Pods[i].IP = "10.0.0.1"
	}
	return s
}

// happen changes the world at random.
func happen(t *rapid.T, w *fixture.World) {
	pod := plan.PodName("zone-a", rapid.IntRange(0, 4).Draw(t, "pod"))
	switch rapid.IntRange(0, 14).Draw(t, "what happens") {
	case 0:
		n := rapid.IntRange(0, 5).Draw(t, "wish")
		w.Zone("zone-a", func(z *group.Zone) { z.Mirror.Scale.Replicas = n })
	case 1:
		w.Silent[pod] = !w.Silent[pod]
	case 2:
		w.Clocks[pod] = rapid.SampledFrom([]time.Duration{0, -time.Hour, -30 * time.Second, 30 * time.Second, time.Hour}).Draw(t, "clock")
	case 3:
		w.Pod(pod, func(p *plan.Pod) { p.Phase, p.ReadySince = plan.Terminating, time.Time{} })
	case 4:
		w.Forget()
	case 5:
		w.Crash = true
	case 6:
		w.Conflict = true
	case 7: // a user adds a replica after the former one is gone
		if z := w.Snapshot().Zones[0]; z.Replicas < 5 && len(z.Pods) == z.Replicas {
			w.Zone("zone-a", func(z *group.Zone) { z.Replicas, z.Observed, z.Generation = z.Replicas+1, false, z.Generation+1 })
		}
	case 8: // the container restarts in place
		w.Pod(pod, func(p *plan.Pod) { p.Phase, p.ReadySince = plan.Starting, time.Time{} })
	case 9: // the pod is replaced between two reads; the clock of the new pod is behind
		now := w.Snapshot().Now
		w.Pod(pod, func(p *plan.Pod) { p.UID, p.ReadySince = fmt.Sprintf("%s since %s", p.Name, now), now })
		w.Clocks[pod] = -time.Hour
	default:
		w.Wait(rapid.SampledFrom([]time.Duration{0, 10 * time.Second, 40 * time.Second, time.Minute, 10 * time.Minute}).Draw(t, "time passes"))
	}
}

// prepared judges pods that were prepared in vain. It maps a recorded pod to the call that
// prepared it, until that call has notified the pod that it stays.
type prepared map[string]group.Call

func (p prepared) saw(steps []plan.Action, after group.Snapshot, silent map[string]bool) string {
	for _, step := range steps {
		a, notifies := step.(group.NotifyPods)
		for _, pod := range a.Pods {
			if notifies && a.Message == group.Stay && !silent[pod.Name] && p[pod.UID] == a.Call {
				delete(p, pod.UID)
			}
		}
	}
	z := after.Zones[0]
	recorded := after.Hold.Acknowledged[z.Name]
	for _, pod := range z.Pods {
		place := pod.Ordinal - z.Start
		kept := slices.ContainsFunc(recorded.OrdinalRanges, func(s group.OrdinalRange) bool {
			return s.From <= place && place < s.To && strings.HasPrefix(s.Pods[(place-s.From)*group.MarkLength:], group.MarkOf(pod.UID))
		})
		call, was := p[pod.UID]
		switch {
		case kept && !recorded.Over:
			p[pod.UID] = recorded.Call
		case was && !kept && pod.Callable():
			return fmt.Sprintf("%s was prepared by %s, and is neither notified to stay nor recorded", pod.Name, call.Path)
		}
	}
	return ""
}

// A prepared pod is notified that it stays by the call that prepared it. That is true if the
// delay is removed or the call changes, and during crashes and failed writes.
func TestNoPodStaysPreparedWhenTheDelayChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := fixture.NewWorld(delayedZone())
		w.Zone("zone-a", func(z *group.Zone) { z.Mirror.Scale.Replicas = 2; fixture.Delays(100 * time.Hour)(z) })
		judge := prepared{}
		for range rapid.IntRange(5, 40).Draw(t, "rounds") {
			change(t, w)
			done, after := legalRound(t, w)
			if wrong := judge.saw(done, after, w.Silent); wrong != "" {
				t.Fatalf("%s\n%s\nafter\n%s", wrong, plan.Notation(done), fixture.PrintSnapshot(after))
			}
			w.Tick()
		}
		clear(w.Silent)
		w.Zone("zone-a", func(z *group.Zone) { z.Delay, z.Mirror = group.Delay{}, group.Mirror{} })
		for range 5 {
			w.Wait(10 * time.Minute)
			w.Round()
		}
		if left := w.Snapshot().Hold.Acknowledged["zone-a"]; !left.None() {
			t.Fatalf("at the end %v are still recorded", left)
		}
	})
}

func change(t *rapid.T, w *fixture.World) {
	pod := plan.PodName("zone-a", rapid.IntRange(2, 4).Draw(t, "pod"))
	delay := func(change func(*group.Delay)) { w.Zone("zone-a", func(z *group.Zone) { change(&z.Delay) }) }
	switch rapid.IntRange(0, 8).Draw(t, "what happens") {
	case 0:
		delay(func(d *group.Delay) { *d = group.Delay{} })
	case 1, 2:
		path := rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "path")
		delay(func(d *group.Delay) { *d = group.Delay{For: 100 * time.Hour, Call: group.Call{Port: 8080, Path: path}} })
	case 3:
		w.Silent[pod] = !w.Silent[pod]
	case 4:
		w.Forget()
	case 5:
		w.Crash = true
	case 6:
		w.Conflict = true
	case 7:
		w.Pod(pod, func(p *plan.Pod) { p.Phase, p.ReadySince = plan.Terminating, time.Time{} })
	default:
		w.Wait(rapid.SampledFrom([]time.Duration{0, time.Minute, 10 * time.Minute}).Draw(t, "time passes"))
	}
}

func TestManyOrdinalRangesAreMergedAndNoPodIsRemovedEarlier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fixture.Group(fixture.Held(""), fixture.Zone("zone-a", "1", fixture.Mirrors("web", 0), fixture.Delays(delay)))
		z := &s.Zones[0]
		z.Notifications = map[string]group.Notification{}
		z.Replicas = rapid.IntRange(1, 1400).Draw(t, "pods")
		step := rapid.IntRange(1, 3).Draw(t, "every so many acknowledge")
		for i := range z.Replicas {
			fixture.Pod(i, plan.Ready, "1")(z)
			z.Pods[i].IP = "10.0.0.1"
			if i%step == 0 {
				at := s.Now.Add(-time.Duration(i*7919%1000) * time.Second)
				z.Notifications[z.Pods[i].UID] = group.Notification{Message: group.Leave, Call: z.Delay.Call, Ready: z.Pods[i].ReadySince, At: at, Since: at}
			}
		}
		for round := range 500 {
			records := recordsIn(group.Plan(s))
			if len(records) == 0 {
				return
			}
			if round == 499 {
				t.Fatal("each plan records something new")
			}
			s.Hold.Acknowledged = map[string]group.DelayRecord{"zone-a": records[0].Acknowledged}
			if n := len(records[0].Acknowledged.OrdinalRanges); n > group.MaxOrdinalRanges {
				t.Fatalf("%d ordinal ranges", n)
			}
			end, acknowledged := 0, 0
			for _, ordinalRange := range records[0].Acknowledged.OrdinalRanges {
				if ordinalRange.From < end || ordinalRange.To <= ordinalRange.From {
					t.Fatalf("ordinal ranges out of order: %v", records[0])
				}
				for end = ordinalRange.From; end < ordinalRange.To; end++ {
					if notified := z.Notifications[z.Pods[end].UID]; notified.Message != group.Leave || notified.At.After(ordinalRange.Since) {
						t.Fatalf("%s is recorded since %s, and notified %+v", z.Pods[end].Name, ordinalRange.Since, notified)
					}
					if since, known := s.AcknowledgedSince(z, z.Pods[end]); !known || !since.Equal(ordinalRange.Since) {
						t.Fatalf("%s is recorded, and not found again: %t, %s", z.Pods[end].Name, known, since)
					}
					acknowledged++
				}
			}
			if acknowledged > group.MaxAcknowledged || acknowledged < min(group.MaxAcknowledged, len(z.Notifications)) && len(records[0].Acknowledged.OrdinalRanges) < group.MaxOrdinalRanges {
				t.Fatalf("%d of %d are recorded", acknowledged, len(z.Notifications))
			}
		}
	})
}

func recordsIn(steps []plan.Action) []group.RecordAcknowledged {
	var records []group.RecordAcknowledged
	for _, step := range steps {
		if a, is := step.(group.RecordAcknowledged); is {
			records = append(records, a)
		}
	}
	return records
}

func TestAWebhookOfAnotherReplicaKnowsTheDelayedDownscaleByLockstep(t *testing.T) {
	const situation = `
hold downscale/zone-a
  downscale zone-a from 2 to 1 admitted own
  acknowledged zone-a 1 to 2 1h ago
zone-a rev=2 mirror=web scale=1 delay=1h
  zone-a-0 ready@2 ip=10.0.0.1   zone-a-1 ready@2 ip=10.0.0.2
`
	request := group.DownscaleRequest{Zone: "zone-a", UID: "zone-a", Version: 10, From: 2, To: 1}
	if v := group.Admit(fixture.MustParse(situation), request); !v.Allowed() || !v.Record.None() {
		t.Errorf("answers %s and records %s", v.Because, v.Record)
	}
	s := fixture.MustParse(situation)
	s.Hold.Acknowledged = nil
	if v := group.Admit(s, request); v.Allowed() {
		t.Error("a pod that is not recorded may be removed")
	}
}

func TestATimeThatCannotBeWrittenSetsNoTimer(t *testing.T) {
	s := fixture.MustParse("hold free\n acknowledged zone-a 0 to 1 1h ago\nzone-a rev=2 mirror=web scale=0 delay=1h\n zone-a-0 ready@2 ip=10.0.0.1\n notified leave zone-a-0 ago=1h\n")
	notified := s.Zones[0].Notifications["zone-a-0"]
	notified.Since = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	s.Zones[0].Notifications["zone-a-0"] = notified
	steps := group.Plan(s)
	if wait, is := steps[0].(plan.Wait); !is || len(steps) != 1 || wait.Because.Code != reason.DownscaleDelayed || !wait.Because.Until.IsZero() {
		t.Errorf("the plan is %v", steps)
	}
}

// A record of a process whose clock was years ahead does not delay a pod for years.
func TestATimeFarInTheFutureDelaysNoPod(t *testing.T) {
	w := fixture.NewWorld(fixture.MustParse(`
hold free
  acknowledged zone-a 1 to 2 -87600h ago
zone-a rev=2 mirror=web scale=1 delay=1h
  zone-a-0 ready@2 ip=10.0.0.1   zone-a-1 ready@2 ip=10.0.0.2
`))
	for i := range 10 {
		if w.Round(); i == 4 {
			w.Wait(time.Hour)
		}
		w.Tick()
	}
	if n := w.Snapshot().Zones[0].Replicas; n != 1 || len(w.Violations) > 0 {
		t.Errorf("after little more than an hour there are %d replicas, and plans were refused: %v", n, w.Violations)
	}
}

func TestPodsAreNotifiedAgainInTime(t *testing.T) {
	s := fixture.MustParse(`
zone-a rev=2 mirror=web scale=4 delay=1h
  zone-a-0 ready@2 zone-a-1 ready@2 zone-a-2 ready@2 zone-a-3 ready@2
  notified stay zone-a-0 again=10m
  notified stay zone-a-1 again=7m
  notified stay zone-a-2 again=5m underway
  notified stay zone-a-3 again=0s
`)
	if diff := cmp.Diff(s.Now.Add(7*time.Minute), group.NextMessage(s)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if at := group.NextMessage(fixture.MustParse("zone-a rev=2")); !at.IsZero() {
		t.Errorf("a message to no pod is due at %s", at)
	}
}

func TestReplacedPodsDoNotExceedTheLimitOfOrdinalRanges(t *testing.T) {
	s := fixture.Group(fixture.Held(""), fixture.Zone("zone-a", "1", fixture.Mirrors("web", 0), fixture.Delays(delay)))
	z := &s.Zones[0]
	z.Replicas, z.Notifications = 4*group.MaxOrdinalRanges, map[string]group.Notification{}
	var all []group.OrdinalRange
	for i := range z.Replicas {
		fixture.Pod(i, plan.Ready, "1")(z)
		z.Pods[i].IP = "10.0.0.1"
		at := s.Now.Add(-time.Duration(i/4) * time.Minute)
		z.Notifications[z.Pods[i].UID] = group.Notification{Message: group.Leave, Call: z.Delay.Call, Ready: z.Pods[i].ReadySince, At: at, Since: at}
		if one := group.OrdinalRangeOf(z.Pods[i].UID, i, at); i%4 == 0 {
			all = append(all, one)
		} else {
			last := &all[len(all)-1]
			last.To, last.Pods = one.To, last.Pods+one.Pods
		}
	}
	s.Hold.Acknowledged = map[string]group.DelayRecord{"zone-a": {OrdinalRanges: all, Call: z.Delay.Call}}
	if records := recordsIn(group.Plan(s)); len(records) > 0 {
		t.Fatalf("the case does not test what it should: %v", records)
	}
	for _, place := range []int{2, 9} { // within an OrdinalRange
		z.Pods[place].UID, z.Pods[place].Phase = "another", plan.Starting
		records := recordsIn(group.Plan(s))
		if len(records) != 1 {
			t.Fatalf("the replacement of %s is recorded %d times", z.Pods[place].Name, len(records))
		}
		if n := len(records[0].Acknowledged.OrdinalRanges); n > group.MaxOrdinalRanges {
			t.Fatalf("%d ordinal ranges, want %d at most", n, group.MaxOrdinalRanges)
		}
		s.Hold.Acknowledged["zone-a"] = records[0].Acknowledged
	}
}

// A pod that was notified to leave and is not recorded would never be notified that it stays.
func TestEveryPodNotifiedToLeaveIsRecordedForAnyNumberOfZones(t *testing.T) {
	const pods, zones = 600, 5
	parts := []fixture.Part{fixture.Held("")}
	for n := range zones {
		parts = append(parts, fixture.Zone(fmt.Sprintf("zone-%d", n), "1", fixture.Mirrors("web", 0), fixture.Delays(delay), fixture.Replicas(pods), func(z *group.Zone) {
			for ordinal := range pods {
				fixture.Pod(ordinal, plan.Ready, "1")(z)
				z.Pods[ordinal].IP = "10.0.0.1"
			}
		}))
	}
	s := fixture.Group(parts...)
	notified := allAcknowledge(&s)
	if len(notified) == 0 {
		t.Fatal("no pod is notified to leave: the case does not test what it should")
	}
	records := func() {
		for _, record := range recordsIn(group.Plan(s)) {
			s.Hold.Acknowledged[record.Zone] = record.Acknowledged
		}
	}
	s.Hold.Acknowledged = map[string]group.DelayRecord{}
	records()
	for n := range 10 { // this reduces the share of each zone
		s.Zones = append(s.Zones, fixture.Group(fixture.Zone(fmt.Sprintf("zone-x%d", n), "1")).Zones...)
	}
	records()
	for _, z := range s.Zones {
		for _, pod := range z.Pods {
			if _, recorded := s.AcknowledgedSince(&z, pod); notified[pod.UID] != recorded {
				t.Fatalf("%s is notified to leave: %t, recorded: %t", pod.Name, notified[pod.UID], recorded)
			}
		}
	}
}

// allAcknowledge lets all pods acknowledge that the plan notifies to leave. It returns their UIDs.
func allAcknowledge(s *group.Snapshot) map[string]bool {
	notified := map[string]bool{}
	for _, step := range group.Plan(*s) {
		a, notifies := step.(group.NotifyPods)
		if !notifies || a.Message != group.Leave {
			continue
		}
		for i := range s.Zones {
			if s.Zones[i].Name == a.Zone {
				s.Zones[i].Notifications = map[string]group.Notification{}
				for _, pod := range a.Pods {
					s.Zones[i].Notifications[pod.UID] = group.Notification{Message: group.Leave, Call: a.Call, Ready: pod.ReadySince, At: s.Now, Since: s.Now}
					notified[pod.UID] = true
				}
			}
		}
	}
	return notified
}
