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
	related *corev1.ObjectReference // nil: the zone only
	kind    string
	code    reason.Code
	action  string
	note    string
	unsent  func() // called if the Event was dropped, so that it is written next time; nil: the Event is lost
}

// about returns the related object of an Event, with a hash of the note in its FieldPath.
// client-go counts Events that differ only in their note as one, and shows the first note.
func (e event) about(s *situation, note string) *corev1.ObjectReference {
	related := s.unitReference(e.zone)
	if e.related != nil {
		related = e.related
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(note)) // never fails
	related.FieldPath = fmt.Sprintf("note[%08x]", sum.Sum32())
	return related
}

// outcomes returns the Events of the steps that were carried out.
func (s *situation) outcomes(done []plan.Receipt) []event {
	var news []event
	for _, receipt := range done {
		sent := receipt.Step.Event()
		if receipt.Err != nil || sent.None() {
			continue
		}
		e := event{zone: sent.Zone, kind: corev1.EventTypeNormal, code: receipt.Step.Reason(), action: sent.Action, note: sent.Note}
		if sent.Pod != "" {
			e.related = s.thePod(sent.Pod, sent.PodUID)
		}
		if sent.Warning {
			e.kind = corev1.EventTypeWarning
		}
		news = append(news, e)
	}
	return news
}

// standing is what a zone waits for, and since when.
type standing struct {
	why   plan.Refusal
	since time.Time
}

// waits returns an Event for every zone that has waited long enough, and the time until the next
// wait becomes an Event; 0 if there is none. A wait that ends in the normal course of a rollout
// neither causes an Event nor replaces the last reported wait.
func (m *memory) waits(s *situation, steps []plan.Action) (news []event, due time.Duration) {
	waiting := map[string]plan.Refusal{}
	for _, step := range steps {
		if w, ok := step.(plan.Wait); ok {
			waiting[w.Zone] = w.Because
		}
	}
	sent, stands, remarked := map[string]plan.Refusal{}, map[string]standing{}, s.remarked()
	for _, z := range s.units {
		why, waits := waiting[z.Name]
		if !waits {
			continue
		}
		stands[z.UID] = m.standing(z.UID, why, s.Now)
		before, known := m.sent[z.UID]
		lasts, patience := s.Now.Sub(stands[z.UID].since), patienceFor(why.Code)
		silent := remarked[about{z.Name, why.Code}]
		if lasts >= patience && !sameStory(before, why, lasts) && !silent {
			sent[z.UID] = why
			news = append(news, event{
				zone: z.Name, related: s.inTheWay(why), kind: severity(why.Code), code: why.Code, action: "Wait", note: "waits: " + why.Sentence(),
				unsent: func() { delete(sent, z.UID) },
			})
			continue
		}
		if known {
			sent[z.UID] = before
		}
		if lasts < patience && !sameStory(before, why, patience) && !silent {
			due = sooner(due, patience-lasts)
		}
	}
	m.sent, m.stands = sent, stands
	return news, due
}

// about identifies the subject of an Event.
type about struct {
	zone string
	code reason.Code
}

// remarked returns the subjects of remarks. Their Events cover waits for the same reason.
func (s *situation) remarked() map[about]bool {
	all := map[about]bool{}
	for _, r := range s.remarks {
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
	// long is how long a wait must last if every pod has it during a rollout.
	long = time.Minute
)

// patienceFor returns how long a wait must last before it becomes an Event.
func patienceFor(code reason.Code) time.Duration {
	switch {
	case code == reason.InvariantViolated, code == reason.ClusterRestored:
		return 0 // lockstep does not retry until something changes, or it exits
	case lasting(code):
		return noticeable
	}
	return long
}

// sooner returns the shorter duration; 0 means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// inTheWay returns the pod or zone that the zone waits for, if there is one.
func (s *situation) inTheWay(why plan.Refusal) *corev1.ObjectReference {
	switch {
	case why.Pod != "":
		return s.podReference(why.Pod)
	case why.Zone != "":
		return s.unitReference(why.Zone)
	}
	return nil
}

// remark is the state of a configuration that a person should correct: since when, and whether an
// Event reported it.
type remark struct {
	since time.Time
	sent  bool
}

// remarks returns an Event for every configuration that a person should correct and that has
// lasted, and the time until the next remark becomes an Event; 0 if there is none. Because of the
// delay, a user can apply labels and annotations one after the other without a warning in
// between.
func (m *memory) remarks(s *situation) (news []event, due time.Duration) {
	standing := map[string]*remark{}
	for _, wait := range s.remarks {
		id := s.unitNamed(wait.Zone).UID + " " + wait.String()
		r := m.remarked[id]
		if r == nil || s.Now.Before(r.since) {
			r = &remark{since: s.Now, sent: r != nil && r.sent}
		}
		standing[id] = r
		switch lasts := s.Now.Sub(r.since); {
		case r.sent:
		case lasts < noticeable:
			due = sooner(due, noticeable-lasts)
		default:
			r.sent = true
			code := wait.Because.Code
			news = append(news, event{
				zone: wait.Zone, kind: severity(code), code: code, action: "Check", note: wait.Because.Sentence(),
				unsent: func() { r.sent = false },
			})
		}
	}
	m.remarked = standing
	return news, due
}

// lasting reports whether a wait for this reason needs its own Event. Other waits are part of
// every pod's replacement.
func lasting(code reason.Code) bool {
	entry, _ := reason.Explain(code)
	return entry.Kind == reason.Attention || slices.Contains(outlasting, code)
}

// outlasting are the reasons for waits that last longer than the replacement of a pod.
var outlasting = []reason.Code{
	reason.PodFailing, reason.OtherZoneUnavailable, reason.NotItsTurn, reason.GroupHeld, reason.CacheStale, reason.RequestFailing,
	reason.QueuedBehindOtherZone, reason.PreparationCancelled, reason.ClusterRestored,
}

// sameStory reports whether the reported wait covers a wait that lasts that long. For reasons
// that every pod has during a rollout, each pod is a separate wait. For lasting reasons, a wait
// for another pod is separate once it has lasted long.
func sameStory(sent, why plan.Refusal, lasts time.Duration) bool {
	return sent.Code == why.Code && sent.Zone == why.Zone && (sent.Pod == why.Pod || lasting(sent.Code) && lasts < long)
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
