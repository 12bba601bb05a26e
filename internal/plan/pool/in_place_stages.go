package pool

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// An update in place that changes more than one patch of the pod can, or that waits for clients of the pod first, begins with
// BeginUpdate. From then on the pod counts as unavailable. Then, if the pod has the gate, it becomes not Ready and keeps
// running for the grace period; its resources are changed; and UpdateInPlace changes the rest and completes it.

// Resources are the resources of a container that can be changed in place, as the API server writes them; empty: the
// container has none.
type Resources struct{ CPURequest, MemoryRequest, CPULimit, MemoryLimit string }

// Gate is the readiness gate of a pod for updates in place.
type Gate int

// The states of the gate.
const (
	// NoGate: the pod has no gate.
	NoGate Gate = iota
	// GateClosed: the pod cannot become Ready.
	GateClosed
	// GateOpen: the pod can become Ready.
	GateOpen
)

// Resize is how far the kubelet is with new resources of a pod.
type Resize int

// The states of a resize.
const (
	// Resized: the kubelet has applied the resources of the spec.
	Resized Resize = iota
	// ResizeUnderway: the kubelet has not applied them yet.
	ResizeUnderway
	// ResizeDeferred: they do not fit on the node now.
	ResizeDeferred
	// ResizeInfeasible: they never fit on the node.
	ResizeInfeasible
)

// BeginUpdate begins an update in place: the pod says that it is updated, so it counts as unavailable.
type BeginUpdate struct {
	Of       plan.Disruption
	Revision string
	Before   map[string]Resources // of the containers that get others
}

// Disruption implements plan.Disruptive.
func (a BeginUpdate) Disruption() plan.Disruption { return a.Of }

// Reason implements plan.Action.
func (a BeginUpdate) Reason() reason.Code { return a.Of.Because }

// Effect implements plan.Action.
func (a BeginUpdate) Effect() plan.Effect {
	return plan.Effect{Zone: a.Of.Zone, Pod: a.Of.Pod, Order: plan.Disrupting, Visible: true, Disrupts: true}
}

// Event implements plan.Action. The end of the update has one.
func (BeginUpdate) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: begin to update web-a of web to web-2.
func (a BeginUpdate) String() string {
	return fmt.Sprintf("begin to update %s of %s to %s", a.Of.Pod, a.Of.Zone, a.Revision)
}

// SetGate opens or closes the readiness gate of a pod for updates in place.
type SetGate struct {
	Pod     string
	UID     string
	Version plan.Version
	Open    bool
}

// Reason implements plan.Action.
func (SetGate) Reason() reason.Code { return reason.UpdatedInPlace }

// Effect implements plan.Action. A gate is closed under the hold that has recorded the update.
func (a SetGate) Effect() plan.Effect {
	order := plan.UnderHold
	if a.Open {
		order = plan.WithoutHold
	}
	return plan.Effect{Zone: a.Pod, Pod: a.Pod, Order: order, Visible: true}
}

// Event implements plan.Action.
func (SetGate) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: close the gate of web-a.
func (a SetGate) String() string {
	if a.Open {
		return "open the gate of " + a.Pod
	}
	return "close the gate of " + a.Pod
}

// ResizePod changes the resources of containers of a pod whose update in place has begun.
type ResizePod struct {
	Pod       string
	UID       string
	Version   plan.Version
	From      string // the revision that the pod has
	Revision  string // the revision that it gets
	Resources map[string]Resources
}

// Reason implements plan.Action.
func (ResizePod) Reason() reason.Code { return reason.UpdatedInPlace }

// Effect implements plan.Action.
func (a ResizePod) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pod, Pod: a.Pod, Order: plan.UnderHold, Visible: true}
}

// Event implements plan.Action.
func (ResizePod) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: resize web-a for web-2.
func (a ResizePod) String() string { return fmt.Sprintf("resize %s for %s", a.Pod, a.Revision) }

// EndUpdate ends an update in place that has begun and cannot go on: the pod no longer says that it is updated.
type EndUpdate struct {
	Pod     string
	UID     string
	Version plan.Version
}

// Reason implements plan.Action.
func (EndUpdate) Reason() reason.Code { return reason.UpdatedInPlace }

// Effect implements plan.Action. The pod runs as before the update, so nothing is disrupted.
func (a EndUpdate) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pod, Pod: a.Pod, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action.
func (EndUpdate) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: end the update of web-a.
func (a EndUpdate) String() string { return "end the update of " + a.Pod }

// inPlace returns the next stage of the update of a pod in place, or why it waits.
func (p *poolState) inPlace(pod *Pod, change Change) (plan.Action, plan.Refusal) {
	resources, grace := toResize(pod, change), time.Duration(0)
	if pod.Gate != NoGate && (pod.Up() || pod.Update.Begun) { // otherwise it has no clients
		grace = p.Object.Strategy.Grace
	}
	underway := plan.Refusal{Code: reason.UpdateUnderway, Pod: pod.Name}
	switch end := pod.GateSince.Add(grace); {
	case !p.hasBegun(pod) && (grace > 0 || len(resources) > 0 || pod.Update.Begun):
		return BeginUpdate{Of: p.disruption(pod, reason.UpdatedInPlace), Revision: p.newest.Name, Before: before(pod, change)}, plan.Refusal{}
	case grace > 0 && pod.Gate == GateOpen:
		return SetGate{Pod: pod.Name, UID: pod.UID, Version: pod.Version}, plan.Refusal{}
	case grace > 0 && p.Now.Before(end):
		underway.Until = end
		return nil, underway
	case len(resources) > 0:
		return ResizePod{Pod: pod.Name, UID: pod.UID, Version: pod.Version, From: pod.Revision, Revision: p.newest.Name, Resources: resources}, plan.Refusal{}
	case pod.Update.Begun && pod.Resize != Resized:
		underway.Until = p.resizeEnds(pod)
		return nil, underway
	}
	return UpdateInPlace{
		Of: p.disruption(pod, reason.UpdatedInPlace), From: pod.Revision, Revision: p.newest.Name, Change: change, Restarts: restarts(pod, change),
	}, plan.Refusal{}
}

// back returns the next stage of the way back of a pod whose update in place has begun and has become impossible, or why it waits.
// The pod gets its former resources, unless the API server has refused them, its gate opens, and then its update ends.
func (p *poolState) back(pod *Pod, change Change) (plan.Action, plan.Refusal) {
	former, underway := Change{}, pod.Resize != Resized
	impossible := plan.Refusal{Code: reason.InPlaceImpossible, Pod: pod.Name}
	switch resizes := len(toResize(pod, former)) > 0; {
	case resizes && change.From == nil, underway && p.resizeFails(pod, former):
		return nil, impossible
	case resizes:
		return p.inPlace(pod, former)
	case underway:
		return nil, plan.Refusal{Code: reason.UpdateUnderway, Pod: pod.Name, Until: p.resizeEnds(pod)}
	case pod.Gate == GateClosed:
		return nil, impossible
	}
	return EndUpdate{Pod: pod.Name, UID: pod.UID, Version: pod.Version}, plan.Refusal{}
}

// hasBegun reports whether an update of a pod in place has begun, and the hold has recorded it.
func (p *poolState) hasBegun(pod *Pod) bool {
	i := p.beganOf[pod.Name]
	return pod.Update.Begun && i.Cause == reason.UpdatedInPlace && i.UID == pod.UID && i.Version == pod.Update.At
}

// toResize returns the resources that the containers of a pod are to get. A pod whose update has begun may have some of a
// revision that is no longer wanted: it gets its former ones.
func toResize(pod *Pod, change Change) map[string]Resources {
	wanted := map[string]Resources{}
	for _, c := range pod.Containers {
		is, changes := change.Resources[c.Name]
		if was, had := pod.Update.Before[c.Name]; !changes && had && pod.Update.Begun {
			is, changes = was, true
		}
		if changes && is != c.Resources {
			wanted[c.Name] = is
		}
	}
	return wanted
}

// before returns the resources that the containers of a pod have at its revision, of those that get others.
func before(pod *Pod, change Change) map[string]Resources {
	former := map[string]Resources{}
	for _, c := range pod.Containers {
		was, had := pod.Update.Before[c.Name]
		switch _, changes := change.Resources[c.Name]; {
		case had && pod.Update.Begun:
			former[c.Name] = was
		case changes:
			former[c.Name] = c.Resources
		}
	}
	return former
}

// resizeEnds returns when a resize that does not fit on the node now is given up; the zero time: never.
func (p *poolState) resizeEnds(pod *Pod) time.Time {
	if pod.Resize != ResizeDeferred || p.Object.Deadline == 0 {
		return time.Time{}
	}
	return pod.ResizeSince.Add(p.Object.Deadline)
}

// resizeFails reports whether the node of a pod has no room for the resources that a change asks for and the pod was given.
func (p *poolState) resizeFails(pod *Pod, change Change) bool {
	ends := p.resizeEnds(pod)
	return pod.Update.Begun && len(toResize(pod, change)) == 0 && (pod.Resize == ResizeInfeasible || !ends.IsZero() && !p.Now.Before(ends))
}

// gates opens the gates of pods that are not being updated.
func (p *poolState) gates() []plan.Action {
	var steps []plan.Action
	for i := range p.staying {
		if pod := &p.staying[i]; pod.Gate == GateClosed && !pod.Gated && !pod.updating() {
			steps = append(steps, SetGate{Pod: pod.Name, UID: pod.UID, Version: pod.Version, Open: true})
		}
	}
	return steps
}

// standingGates opens the gates of pods whose updates in place have begun and cannot go on now, so that the pods serve meanwhile.
// planned is what the plan does to pods, and waitsFor are the pods that only need time.
func (p *poolState) standingGates(planned []plan.Action, waitsFor map[string]bool) []plan.Action {
	goesOn := func(pod string) bool {
		return waitsFor[pod] || slices.ContainsFunc(planned, func(a plan.Action) bool {
			_, cancels := a.(plan.CancelDeletion)
			return a.Effect().Pod == pod && !cancels
		})
	}
	var steps []plan.Action
	for i := range p.staying {
		if pod := &p.staying[i]; pod.Update.Begun && pod.Gate == GateClosed && !goesOn(pod.Name) && !p.isSoonCompared(pod) {
			steps = append(steps, SetGate{Pod: pod.Name, UID: pod.UID, Version: pod.Version, Open: true})
		}
	}
	return steps
}

// comparedWithin is how long a pod stays without clients after its grace period because it is not known yet how it differs from the
// template.
const comparedWithin = 10 * time.Second

// isSoonCompared reports whether it is not known yet how a pod differs from the template, because the template or this process is new. If
// its gate opened for that, its grace period would begin again.
func (p *poolState) isSoonCompared(pod *Pod) bool {
	_, known := p.changeOf(pod)
	unchecked := p.newest.Name == "" && p.Refused.None() || p.newest.Name != "" && !known
	return unchecked && p.Now.Before(pod.GateSince.Add(p.Object.Strategy.Grace+comparedWithin))
}
