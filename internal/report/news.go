package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// event is an Event on the StatefulSet of a zone.
type event struct {
	zone   string
	kind   string
	code   reason.Code
	action string
	note   string
}

// deeds returns an Event for every step that was done.
func (m *memory) deeds(done []plan.Receipt) []event {
	var news []event
	for _, receipt := range done {
		if receipt.Err != nil {
			continue
		}
		switch step := receipt.Step.(type) {
		case plan.DeletePod:
			news = append(news, deed(step.Zone, step, "DeletePod", fmt.Sprintf("deleted pod %s", step.Pod)))
		case plan.Withdraw:
			news = append(news, deed(step.Intent.Zone, step, "WithdrawDelete", fmt.Sprintf("no longer deletes pod %s (%s)", step.Intent.Pod, step.Since)))
		case plan.AdoptRevision:
			news = append(news, deed(step.Zone, step, "AdoptRevision", fmt.Sprintf("made %s the current revision", step.Revision)))
		case plan.Release, plan.Wait:
		}
	}
	return news
}

func deed(zone string, step plan.Action, action, what string) event {
	return event{zone, corev1.EventTypeNormal, step.Reason(), action, what + ": " + sentence(step.Reason())}
}

// waits returns an Event for every zone that begins to wait for something
// that lasts. A wait that passes within the course of a rollout neither tells
// nor ends what was told.
func (m *memory) waits(s plan.Snapshot, steps []plan.Action) []event {
	waiting := map[string]plan.Refusal{}
	for _, step := range steps {
		if w, ok := step.(plan.Wait); ok {
			waiting[w.Zone] = w.Because
		}
	}
	var news []event
	for _, z := range s.Zones {
		why, waits := waiting[z.Name]
		switch {
		case !waits:
			delete(m.told, z.Name)
		case !lasting(why.Code) || sameStory(m.told[z.Name], why):
		default:
			m.told[z.Name] = why
			news = append(news, event{z.Name, severity(why.Code), why.Code, "Wait", "waits: " + describe(why)})
		}
	}
	return news
}

// remarks returns an Event for everything a person should correct, once.
func (m *memory) remarks(s plan.Snapshot) []event {
	standing := map[string]bool{}
	var news []event
	for _, remark := range plan.Remarks(s) {
		id := remark.String()
		standing[id] = true
		if !m.seen[id] {
			code := remark.Because.Code
			news = append(news, event{remark.Zone, corev1.EventTypeWarning, code, "Check", describe(remark.Because)})
		}
	}
	m.seen = standing
	return news
}

// lasting tells whether a wait for this reason is worth an Event of its own,
// rather than being part of every pod's way through a rollout.
func lasting(code reason.Code) bool {
	entry, _ := reason.Explain(code)
	return entry.Kind == reason.Attention || slices.Contains(outlasting, code)
}

// outlasting are the waits that last longer than a pod's way back.
var outlasting = []reason.Code{reason.PodFailing, reason.OtherZoneNotWhole, reason.NotItsTurn, reason.GroupHeld}

func sameStory(a, b plan.Refusal) bool { return a.Code == b.Code && a.Zone == b.Zone }

func severity(code reason.Code) string {
	entry, _ := reason.Explain(code)
	if code == reason.PodFailing || (entry.Kind == reason.Attention && code != reason.Paused) {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// describe spells a refusal as a sentence with what stands in the way.
func describe(r plan.Refusal) string {
	var about []string
	if r.Zone != "" {
		about = append(about, "zone "+r.Zone)
	}
	if r.Pod != "" {
		about = append(about, "pod "+r.Pod)
	}
	if r.Detail != "" {
		about = append(about, r.Detail)
	}
	if len(about) == 0 {
		return sentence(r.Code)
	}
	return sentence(r.Code) + " (" + strings.Join(about, ", ") + ")"
}

func sentence(code reason.Code) string {
	entry, _ := reason.Explain(code)
	return entry.Sentence
}

func uid(z plan.Zone) types.UID { return types.UID(z.UID) }
