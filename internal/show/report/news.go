package report

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
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
		case plan.EndIntent:
			if because == reason.PodNotFound {
				continue // the pod was deleted, as was reported before
			}
			e.zone, e.related, e.action = step.Intent.Zone, thePod(s, step.Intent.Pod, step.Intent.UID), "EndEviction"
			e.note = fmt.Sprintf("the eviction of pod %s counts no more: %s", step.Intent.Pod, sentence(because))
			if because == reason.HoldRestored {
				e.kind, e.action = corev1.EventTypeWarning, "DropNote"
				e.note = fmt.Sprintf("drops the note of pod %s: %s", step.Intent.Pod, sentence(because))
			}
		case plan.SetReplicas:
			e.zone, e.action = step.Zone, "SetReplicas"
			e.note = fmt.Sprintf("set spec.replicas from %d to %d: %s", step.From, step.To, sentence(because))
		case plan.Release, plan.Wait, plan.VoidDecrease, plan.PreparePods, plan.UndoPreparation, plan.StampDownscale,
			plan.ReportReplicas, plan.TellPods, plan.NoteAgreed, plan.NoteZones, plan.TakePlace:
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

// waits returns an Event for every zone that has waited for long enough, and after how
// long the next wait will be an Event; 0 if none is due. A wait that passes within the
// course of a rollout neither makes an Event nor ends what was told.
func (m *memory) waits(s plan.Snapshot, steps []plan.Action) (news []event, due time.Duration) {
	waiting := map[string]plan.Refusal{}
	for _, step := range steps {
		if w, ok := step.(plan.Wait); ok {
			waiting[w.Zone] = w.Because
		}
	}
	told, stands, remarked := map[string]plan.Refusal{}, map[string]standing{}, remarksOf(s)
	for _, z := range s.Zones {
		why, waits := waiting[z.Name]
		if !waits {
			continue
		}
		stands[z.UID] = m.standing(z.UID, why, s.Now)
		before, known := m.told[z.UID]
		lasts, patience := s.Now.Sub(stands[z.UID].since), patienceFor(why.Code)
		silent := remarked[about{z.Name, why.Code}]
		if lasts >= patience && !sameStory(before, why, lasts) && !silent {
			told[z.UID] = why
			news = append(news, event{
				zone: z.Name, related: inTheWay(s, why), kind: severity(why.Code), code: why.Code, action: "Wait", note: "waits: " + why.Sentence(),
				untold: func() { delete(told, z.UID) },
			})
			continue
		}
		if known {
			told[z.UID] = before
		}
		if lasts < patience && !sameStory(before, why, patience) && !silent {
			due = sooner(due, patience-lasts)
		}
	}
	m.told, m.stands = told, stands
	return news, due
}

// about is what an Event may be about.
type about struct {
	zone string
	code reason.Code
}

// remarksOf returns what remarks are about: their Events tell of waits for the same reason
// as well.
func remarksOf(s plan.Snapshot) map[about]bool {
	all := map[about]bool{}
	for _, r := range plan.Remarks(s) {
		all[about{r.Zone, r.Because.Code}] = true
	}
	return all
}

func (m *memory) standing(zone string, why plan.Refusal, now time.Time) standing {
	if before, known := m.stands[zone]; known && !now.Before(before.since) && before.why.Code == why.Code && before.why.Zone == why.Zone && before.why.Pod == why.Pod {
		return before
	}
	return standing{why, now}
}

const (
	// noticeable is how long a wait or a remark must last before it becomes an Event.
	noticeable = 2 * time.Second
	// long is how long a wait must last that is part of every pod's way through a rollout.
	long = time.Minute
)

// patienceFor returns how long a wait must have been reported before it becomes an Event.
func patienceFor(code reason.Code) time.Duration {
	switch {
	case code == reason.InvariantViolated, code == reason.ClusterRestored:
		return 0 // lockstep does not try again until something changes, or ends
	case lasting(code):
		return noticeable
	}
	return long
}

// sooner returns the shorter one of two durations, of which 0 means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

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

// remark is something that a person should correct: since when, and whether an Event told it.
type remark struct {
	since time.Time
	told  bool
}

// remarks returns one Event for everything that a person should correct and that has
// lasted, and after how long the next remark will be an Event; 0 if none is due. Whoever
// applies labels and annotations one after the other is not warned about the first half.
func (m *memory) remarks(s plan.Snapshot) (news []event, due time.Duration) {
	standing := map[string]*remark{}
	for _, wait := range plan.Remarks(s) {
		z, _ := s.Zone(wait.Zone)
		id := z.UID + " " + wait.String()
		r := m.remarked[id]
		if r == nil || s.Now.Before(r.since) {
			r = &remark{since: s.Now, told: r != nil && r.told}
		}
		standing[id] = r
		switch lasts := s.Now.Sub(r.since); {
		case r.told:
		case lasts < noticeable:
			due = sooner(due, noticeable-lasts)
		default:
			r.told = true
			code := wait.Because.Code
			news = append(news, event{
				zone: wait.Zone, kind: severity(code), code: code, action: "Check", note: wait.Because.Sentence(),
				untold: func() { r.told = false },
			})
		}
	}
	m.remarked = standing
	return news, due
}

// lasting reports whether a wait for this reason is worth an Event of its own,
// rather than being part of every pod's way through a rollout.
func lasting(code reason.Code) bool {
	entry, _ := reason.Explain(code)
	return entry.Kind == reason.Attention || slices.Contains(outlasting, code)
}

// outlasting are the waits that last longer than a pod's way back.
var outlasting = []reason.Code{
	reason.PodFailing, reason.OtherZoneUnavailable, reason.NotItsTurn, reason.GroupHeld, reason.CacheStale, reason.RequestFailing,
	reason.QueuedBehindOtherZone, reason.PreparationCancelled, reason.ClusterRestored,
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
	case code == reason.Paused, code == reason.ReplicasForced, code == reason.PauseExpired:
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
