package group_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// Most drawn groups are far from their goal. So conditions that keep a group from its
// goal when it is otherwise there are drawn separately.
func TestExplainedSilenceNearTheGoal(t *testing.T) {
	silent, acting := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawFinished(t)
		for range rapid.IntRange(0, 3).Draw(t, "flaws") {
			drawFlaw(t, &s)
		}
		show(t, s)
		steps := group.Plan(s)
		if silent, goal := len(steps) == 0, fixture.AtGoal(s); silent != goal {
			t.Fatalf("the plan is empty: %t, the goal is reached: %t\n%s", silent, goal, plan.Notation(steps))
		}
		if len(steps) == 0 {
			silent++
		} else {
			acting++
		}
	})
	if silent < acting/20 || acting < silent/20 {
		t.Errorf("%d plans are empty and %d are not", silent, acting)
	}
}

// drawFinished draws a group that has reached its goal.
func drawFinished(t *rapid.T) group.Snapshot {
	var parts []fixture.Part
	for _, name := range []string{"zone-a", "zone-b", "zone-c"}[:rapid.IntRange(1, 3).Draw(t, "zones")] {
		pods := make([]string, rapid.IntRange(0, 3).Draw(t, name+" pods"))
		for i := range pods {
			pods[i] = "1"
		}
		parts = append(parts, fixture.Zone(name, "1", fixture.Pods(pods...)))
	}
	return fixture.Group(append(parts, fixture.Held(""))...)
}

// drawFlaw adds a flaw to a zone. Many flaws can only be corrected by users, and some
// are no flaws.
func drawFlaw(t *rapid.T, s *group.Snapshot) {
	z := &s.Zones[rapid.IntRange(0, len(s.Zones)-1).Draw(t, "zone")]
	flaws := map[string]func(){
		"paused":            func() { z.Paused = true },
		"rolling update":    func() { z.OnDelete = false },
		"not observed":      func() { z.Observed = false },
		"still counting":    func() { z.Counting, z.CurrentRevision = true, "0" },
		"not adopted":       func() { z.CurrentRevision = "0" },
		"being deleted":     func() { z.Deleting = true },
		"barred":            func() { z.Barred = true },
		"no budget":         func() { z.MaxUnavailable = plan.Budget{Invalid: "0%"} },
		"force invalid":     func() { z.Forced = group.Force{Invalid: "many"} },
		"forced":            func() { z.Forced = group.Force{Given: true, Replicas: rapid.IntRange(0, 3).Draw(t, "force")} },
		"follows":           func() { z.Leader = rapid.SampledFrom([]string{"zone-a", "zone-b", "zone-c"}).Draw(t, "leader") },
		"follows late":      func() { z.Leader, z.AfterLeader = "zone-a", true },
		"mirrors":           func() { takeOver(z, rapid.IntRange(0, 3).Draw(t, "asks")) },
		"mirrors its own":   func() { takeOver(z, z.Replicas) },
		"trouble":           func() { takeOver(z, z.Replicas); z.Mirror.Scale.Trouble.Code = reason.ReferenceMissing },
		"mirror invalid":    func() { z.Mirror = group.Mirror{Invalid: "the kind is missing"} },
		"not reported":      func() { takeOver(z, z.Replicas); z.Mirror.Scale.Reported = z.Replicas + 1 },
		"delay":             func() { takeOver(z, z.Replicas); z.Delay = fixture.DelayOf(time.Minute) },
		"delay invalid":     func() { takeOver(z, z.Replicas); z.Delay = group.Delay{Invalid: "soon"} },
		"delay alone":       func() { z.Delay = fixture.DelayOf(time.Minute) },
		"all know":          func() { notifyAll(z) },
		"no pod answers":    func() { notifyAll(z); unanswered(z) },
		"acknowledged":      func() { recordLast(s, z, fixture.UsualCall(*z)) },
		"another call":      func() { recordLast(s, z, fixture.DelayCall("/former")) },
		"record over":       func() { recordLast(s, z, fixture.UsualCall(*z)); endRecord(s, z) },
		"owed an answer":    func() { recordLast(s, z, fixture.UsualCall(*z)); endRecord(s, z); notifyAll(z); unanswered(z) },
		"held":              func() { s.Hold.Holder = plan.RolloutOperation.For(z.Name) },
		"held from outside": func() { s.Hold.Holder = "manual/maintenance" },
		"surplus":           func() { z.Replicas = max(0, z.Replicas-1) },
		"missing":           func() { z.Replicas++ },
		"min ready":         func() { z.MinReady = 2 * time.Hour },
		"recorded":          func() { s.Hold.Intents = append(s.Hold.Intents, fixture.IntentOf(plan.PodName(z.Name, 0))) },
	}
	flaws[rapid.SampledFrom(slices.Sorted(maps.Keys(flaws))).Draw(t, "flaw")]()
}

func takeOver(z *group.Zone, asks int) {
	fixture.Mirrors("of-"+z.Name, asks)(z)
	z.Mirror.Scale.Reported = z.Replicas
}

// notifyAll notifies every pod of a zone that it stays.
func notifyAll(z *group.Zone) {
	z.Notifications = map[string]group.Notification{}
	for i := range z.Pods {
		z.Pods[i].IP = "10.0.0.1"
		z.Notifications[z.Pods[i].UID] = group.Notification{
			Message: group.Stay, Call: fixture.UsualCall(*z), Ready: z.Pods[i].ReadySince, At: fixture.Now(),
		}
	}
}

// unanswered sets that no pod of a zone has answered its last message.
func unanswered(z *group.Zone) {
	for uid, notified := range z.Notifications {
		notified.Failed, notified.Why, notified.Again = true, "did not answer in time", fixture.Now().Add(time.Minute)
		z.Notifications[uid] = notified
	}
}

// recordLast records that the last pod of a zone is ready to leave.
func recordLast(s *group.Snapshot, z *group.Zone, call group.Call) {
	if len(z.Pods) > 0 {
		last := z.Pods[len(z.Pods)-1]
		ordinalRange := group.OrdinalRangeOf(last.UID, last.Ordinal, fixture.Now())
		s.Hold.Acknowledged = map[string]group.DelayRecord{z.Name: {Call: call, OrdinalRanges: []group.OrdinalRange{ordinalRange}}}
	}
}

// endRecord sets that the record of a zone is over.
func endRecord(s *group.Snapshot, z *group.Zone) {
	if a, recorded := s.Hold.Acknowledged[z.Name]; recorded {
		a.Over = true
		s.Hold.Acknowledged[z.Name] = a
	}
}
