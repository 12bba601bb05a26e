package pool

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// VolumeLook is what a look at the volumes of a pod without a node has shown.
type VolumeLook struct {
	At          time.Time
	Unreachable bool      // a volume can only be used on nodes of which none exists
	Since       time.Time // of the first look in a row that has shown that
	Waits       string    // a volume can only be used on nodes that exist and take no pod now; empty: none does
}

// lookAtVolumesAgain is how long a look at the volumes of a pod counts.
const lookAtVolumesAgain = 30 * time.Second

// LookAtVolumes finds out why pods have no node: whether a volume of them can only be used on nodes that do not exist.
type LookAtVolumes struct {
	Pool string
	Pods []string
}

// Reason implements plan.Action.
func (LookAtVolumes) Reason() reason.Code { return reason.VolumesLookedAt }

// Effect implements plan.Action. Nothing changes.
func (a LookAtVolumes) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold}
}

// Event implements plan.Action.
func (LookAtVolumes) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: look at the volumes of web-0123456789abcdef.
func (a LookAtVolumes) String() string {
	return fmt.Sprintf("look at the volumes of %s", strings.Join(a.Pods, ", "))
}

// lookAtVolumes looks at the volumes of the pods that have had no node for long, and returns what they wait for.
func (p *poolState) lookAtVolumes() (steps, waits []plan.Action) {
	look := LookAtVolumes{Pool: p.Key.Name}
	for _, pod := range p.needed() {
		if !p.unscheduledForLong(&pod) {
			continue
		}
		seen := p.Volumes[pod.UID]
		again := seen.At.Add(lookAtVolumesAgain)
		if !again.After(p.Now) {
			look.Pods = append(look.Pods, pod.Name)
		}
		if seen.Waits != "" {
			waits = append(waits, p.waits(plan.Refusal{Code: reason.VolumeWaitsForNode, Pod: pod.Name, Detail: seen.Waits, Until: again})...)
		}
	}
	if len(look.Pods) > 0 {
		steps = append(steps, look)
	}
	return steps, waits
}

// unscheduledForLong reports whether a pod with claims may be scheduled, and has not been for longer than a pod may take to
// become Ready.
func (p *poolState) unscheduledForLong(pod *Pod) bool {
	return !pod.Scheduled && !pod.Gated && len(pod.Mounts) > 0 && p.Object.Liveness.Startup > 0 && !p.Now.Before(pod.Created.Time().Add(p.Object.Liveness.Startup))
}

// isUnreachable reports whether a volume of a pod without a node is out of reach, as the last look has shown.
func (p *poolState) isUnreachable(pod *Pod) bool {
	return p.unscheduledForLong(pod) && p.Volumes[pod.UID].Unreachable
}

// looksDue returns when the volumes of pods without a node are to be looked at.
func (p *poolState) looksDue() []time.Time {
	var due []time.Time
	needed := p.needed()
	for i := range needed {
		if pod := &needed[i]; !pod.Scheduled && !pod.Gated && len(pod.Mounts) > 0 && p.Object.Liveness.Startup > 0 {
			due = append(due, latest(pod.Created.Time().Add(p.Object.Liveness.Startup), p.Volumes[pod.UID].At.Add(lookAtVolumesAgain)))
		}
	}
	return due
}
