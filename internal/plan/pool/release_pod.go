package pool

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ReleasePod takes a pod that the selector does not match any more out of the object: a person has changed its labels. The pod
// keeps running, with its claims, and is adopted again if the selector matches it again.
type ReleasePod struct {
	Pool    string
	Pod     string
	UID     string
	Version plan.Version
}

// Reason implements plan.Action.
func (ReleasePod) Reason() reason.Code { return reason.PodReleased }

// Effect implements plan.Action. The selector never changes, so a cache suffices.
func (a ReleasePod) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Pod: a.Pod, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action.
func (a ReleasePod) Event() plan.Event {
	return plan.Event{Zone: a.Pool, Pod: a.Pod, PodUID: a.UID, Action: "ReleasePod", Note: fmt.Sprintf("released pod %s: %s", a.Pod, a.Reason().Sentence())}
}

// String implements plan.Action: release web-a of web.
func (a ReleasePod) String() string { return fmt.Sprintf("release %s of %s", a.Pod, a.Pool) }

// releases takes the pods out of the object that the selector does not match any more. They do not count from now on.
func (p *poolState) releases() []plan.Action {
	var steps []plan.Action
	for i := range p.Pods {
		if pod := &p.Pods[i]; p.isUnmatched(pod) && !p.isNewUnmatched(pod) {
			steps = append(steps, ReleasePod{Pool: p.Key.Name, Pod: pod.Name, UID: pod.UID, Version: pod.Version})
		}
	}
	return steps
}

func (p *poolState) isUnmatched(pod *Pod) bool {
	return pod.Owner == p.Object.UID && pod.Unmatched && pod.Phase != plan.Terminating
}

// isNewUnmatched reports whether the labels of a pod that the selector does not match may have been changed when it was created. The
// gate of a pod says that it is new. One without claims has no gate, so it counts as new for as long as the longest pause between
// lost identities.
func (p *poolState) isNewUnmatched(pod *Pod) bool {
	return pod.Gated || p.releasedFrom(pod).After(p.Now)
}

// releasedFrom returns from when a pod without claims is released if the selector does not match it; the zero time: at once.
func (s *Snapshot) releasedFrom(pod *Pod) time.Time {
	if len(pod.Mounts) > 0 {
		return time.Time{}
	}
	return pod.Created.Time().Add(longestPause)
}

// neverMatched returns the waits for pods that the selector has never matched, because something changes labels of new pods. Each
// keeps its place: the next one would not match either.
func (p *poolState) neverMatched() []plan.Action {
	var waits []plan.Action
	for i := range p.Pods {
		if pod := &p.Pods[i]; p.isUnmatched(pod) && p.isNewUnmatched(pod) {
			waits = append(waits, p.waits(plan.Refusal{Code: reason.LabelsChanged, Pod: pod.Name, Until: p.releasedFrom(pod)})...)
		}
	}
	return waits
}
