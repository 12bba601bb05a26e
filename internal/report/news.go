package report

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// event is an Event on the StatefulSet of a zone.
type event struct {
	zone    string
	related *corev1.ObjectReference // nil: nothing but the zone
	kind    string
	code    reason.Code
	action  string
	note    string
	untold  func() // where it is not told after all, so that it is next time; nil: that is lost
}

// about returns what an Event is related to, as part of which it names its note: Events
// that differ in their note alone would be counted as one, and show the first note.
func (e event) about(s plan.Snapshot, note string) *corev1.ObjectReference {
	related := zoneReference(s, e.zone)
	if e.related != nil {
		related = e.related
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(note)) // which never fails
	related.FieldPath = fmt.Sprintf("note[%08x]", sum.Sum32())
	return related
}

// deeds returns an Event for every step that was done.
func (m *memory) deeds(s plan.Snapshot, done []plan.Receipt) []event {
	var news []event
	for _, receipt := range done {
		if receipt.Err != nil {
			continue
		}
		because := receipt.Step.Reason()
		e := event{kind: corev1.EventTypeNormal, code: because}
		switch step := receipt.Step.(type) {
		case plan.DeletePod:
			e.zone, e.related, e.action = step.Zone, thePod(s, step.Pod, step.UID), "DeletePod"
			e.note = fmt.Sprintf("deleted pod %s: %s", step.Pod, sentence(because))
		case plan.Withdraw:
			e.zone, e.related, e.action = step.Intent.Zone, thePod(s, step.Intent.Pod, step.Intent.UID), "WithdrawDelete"
			e.note = fmt.Sprintf("no longer deletes pod %s (%s): %s", step.Intent.Pod, step.Because, sentence(because))
		case plan.AdoptRevision:
			e.zone, e.action = step.Zone, "AdoptRevision"
			e.note = fmt.Sprintf("made %s the current revision: %s", step.Revision, sentence(because))
		case plan.NoteDecrease:
			if because == reason.PreparationFailed {
				e = givesUp(s.Hold.Decrease, step.Why)
				break
			}
			e.zone, e.action = step.Decrease.Zone, "NoteDownscale"
			e.note = fmt.Sprintf("notes the downscale from %d to %d: %s", step.Decrease.From, step.Decrease.To, sentence(because))
		case plan.EndDecrease:
			if step.Restored {
				e.zone, e.kind, e.action = step.Decrease.Zone, corev1.EventTypeWarning, "DropNote"
				e.note = fmt.Sprintf("drops the note of the downscale from %d to %d: %s", step.Decrease.From, step.Decrease.To, sentence(because))
				break
			}
			if z, exists := s.Zone(step.Decrease.Zone); exists && z.UID != step.Decrease.UID {
				continue // of a StatefulSet that is gone, and no news of the one that has its name
			}
			if because == reason.PreparationFailed {
				e = givesUp(step.Decrease, step.Failed)
				break
			}
			e.zone, e.action = step.Decrease.Zone, "EndDownscale"
			e.note = fmt.Sprintf("the downscale from %d to %d has ended: %s", step.Decrease.From, step.Decrease.To, sentence(because))
		case plan.EndGrant:
			e.zone, e.related, e.action = step.Intent.Zone, thePod(s, step.Intent.Pod, step.Intent.UID), "EndEviction"
			e.note = fmt.Sprintf("the eviction of pod %s counts no more: %s", step.Intent.Pod, sentence(because))
		case plan.DropIntent:
			e.zone, e.related, e.kind, e.action = step.Intent.Zone, thePod(s, step.Intent.Pod, step.Intent.UID), corev1.EventTypeWarning, "DropNote"
			e.note = fmt.Sprintf("drops the note of pod %s: %s", step.Intent.Pod, sentence(because))
		case plan.SetReplicas:
			e.zone, e.action = step.Zone, "SetReplicas"
			e.note = fmt.Sprintf("set spec.replicas from %d to %d: %s", step.From, step.To, sentence(because))
		case plan.Release, plan.Wait, plan.VoidDecrease, plan.PreparePods, plan.UndoPreparation, plan.StampDownscale,
			plan.ReportReplicas, plan.TellPods, plan.NoteAgreed, plan.TakePlace:
			continue
		}
		news = append(news, e)
	}
	return news
}

// givesUp tells that pods did not agree to leave.
func givesUp(d plan.Decrease, why string) event {
	return event{
		zone: d.Zone, kind: corev1.EventTypeWarning, code: reason.PreparationFailed, action: "PreparePods",
		note: fmt.Sprintf("gives up the downscale from %d to %d: %s (%s)", d.From, d.To, sentence(reason.PreparationFailed), why),
	}
}

// standing is what a zone waits for, and since when.
type standing struct {
	why   plan.Refusal
	since time.Time
}

// waits returns an Event for every zone that begins to wait for something
// that lasts, or waits for long for something that does not. A wait that passes
// within the course of a rollout neither tells nor ends what was told.
func (m *memory) waits(s plan.Snapshot, steps []plan.Action) []event {
	waiting := map[string]plan.Refusal{}
	for _, step := range steps {
		if w, ok := step.(plan.Wait); ok {
			waiting[w.Zone] = w.Because
		}
	}
	var news []event
	told, stands := map[string]plan.Refusal{}, map[string]standing{}
	for _, z := range s.Zones {
		why, waits := waiting[z.Name]
		if !waits {
			continue
		}
		stands[z.UID] = m.standing(z.UID, why, s.Now)
		before, known := m.told[z.UID]
		switch lasts := s.Now.Sub(stands[z.UID].since); {
		case tellable(why.Code, lasts) && !sameStory(before, why, lasts):
			told[z.UID] = why
			news = append(news, event{
				zone: z.Name, related: inTheWay(s, why), kind: severity(why.Code), code: why.Code, action: "Wait", note: "waits: " + why.Sentence(),
				untold: func() { delete(told, z.UID) },
			})
		case known:
			told[z.UID] = before
		}
	}
	m.told, m.stands = told, stands
	return news
}

func (m *memory) standing(zone string, why plan.Refusal, now time.Time) standing {
	if before, known := m.stands[zone]; known && !now.Before(before.since) && before.why.Code == why.Code && before.why.Zone == why.Zone && before.why.Pod == why.Pod {
		return before
	}
	return standing{why, now}
}

// long is from when on a wait that should pass by itself is told of.
const long = time.Minute

func tellable(code reason.Code, lasts time.Duration) bool { return lasting(code) || lasts >= long }

// inTheWay returns the pod or zone that is waited for, if there is one.
func inTheWay(s plan.Snapshot, why plan.Refusal) *corev1.ObjectReference {
	switch {
	case why.Pod != "":
		return podReference(s, why.Pod)
	case why.Zone != "":
		return zoneReference(s, why.Zone)
	}
	return nil
}

// remarks returns an Event for everything a person should correct, once.
func (m *memory) remarks(s plan.Snapshot) []event {
	standing := map[string]bool{}
	var news []event
	for _, remark := range plan.Remarks(s) {
		z, _ := s.Zone(remark.Zone)
		id := z.UID + " " + remark.String()
		standing[id] = true
		if !m.seen[id] {
			code := remark.Because.Code
			news = append(news, event{
				zone: remark.Zone, kind: severity(code), code: code, action: "Check", note: remark.Because.Sentence(),
				untold: func() { delete(standing, id) },
			})
		}
	}
	m.seen = standing
	return news
}

// lasting reports whether a wait for this reason is worth an Event of its own,
// rather than being part of every pod's way through a rollout.
func lasting(code reason.Code) bool {
	entry, _ := reason.Explain(code)
	return entry.Kind == reason.Attention || slices.Contains(outlasting, code)
}

// outlasting are the waits that last longer than a pod's way back.
var outlasting = []reason.Code{
	reason.PodFailing, reason.OtherZoneNotWhole, reason.NotItsTurn, reason.GroupHeld, reason.CacheBehind, reason.RequestFailing,
	reason.OthersCameFirst, reason.PreparationUndone, reason.ClusterRestored,
}

// sameStory reports whether the Event of what was told says what there is to say of a
// wait that lasts that long. Waits that pass from pod to pod are a story for each pod;
// where they are told at once, for each that stays for long.
func sameStory(told, why plan.Refusal, lasts time.Duration) bool {
	return told.Code == why.Code && told.Zone == why.Zone && (told.Pod == why.Pod || lasting(told.Code) && lasts < long)
}

func severity(code reason.Code) string {
	entry, _ := reason.Explain(code)
	switch {
	case code == reason.Paused, code == reason.ReplicasForced, code == reason.PauseOver:
		return corev1.EventTypeNormal
	case entry.Kind == reason.Attention, code == reason.PodFailing, code == reason.RequestFailing, code == reason.ClusterRestored:
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

func sentence(code reason.Code) string {
	entry, _ := reason.Explain(code)
	return entry.Sentence
}
