package pool

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// InPlaceUpdate is what a pod says about its last update in place. The zero InPlaceUpdate is none.
type InPlaceUpdate struct {
	Revision string
	At       plan.Version      // the version of the pod before the update, as the intent has it
	Since    time.Time         // when it was updated
	Restarts map[string]string // the containers that have to restart, with their IDs before the update

	Begun  bool                 // the pod still has its former revision
	Before map[string]Resources // if Begun: the resources that containers had, of those that get others
}

// UpdateInPlace changes exactly the pod that was evaluated: the images of its containers, its labels and annotations.
type UpdateInPlace struct {
	Of       plan.Disruption
	From     string // the revision that the pod has
	Revision string
	Change   Change
	Restarts map[string]string
}

// Disruption implements plan.Disruptive.
func (a UpdateInPlace) Disruption() plan.Disruption { return a.Of }

// Reason implements plan.Action.
func (a UpdateInPlace) Reason() reason.Code { return a.Of.Because }

// Effect implements plan.Action.
func (a UpdateInPlace) Effect() plan.Effect {
	return plan.Effect{Zone: a.Of.Zone, Pod: a.Of.Pod, Order: plan.Disrupting, Visible: true, Disrupts: true}
}

// Event implements plan.Action.
func (a UpdateInPlace) Event() plan.Event {
	return plan.Event{
		Zone: a.Of.Zone, Pod: a.Of.Pod, PodUID: a.Of.UID, Action: "UpdatePod",
		Note: fmt.Sprintf("updated pod %s: %s", a.Of.Pod, a.Of.Because.Sentence()),
	}
}

// String implements plan.Action: update web-a of web in place to web-2.
func (a UpdateInPlace) String() string {
	return fmt.Sprintf("update %s of %s in place to %s", a.Of.Pod, a.Of.Zone, a.Revision)
}

// RelabelPod gives a pod that differs in nothing from the newest revision the label of that revision.
type RelabelPod struct {
	Pool     string
	Pod      string
	UID      string
	Version  plan.Version
	Revision string
}

// Reason implements plan.Action.
func (RelabelPod) Reason() reason.Code { return reason.RevisionEqual }

// Effect implements plan.Action.
func (a RelabelPod) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pod, Pod: a.Pod, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action.
func (RelabelPod) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: relabel web-a to web-2.
func (a RelabelPod) String() string { return fmt.Sprintf("relabel %s to %s", a.Pod, a.Revision) }

// updating reports whether an update of the pod in place is not complete: it has only begun, the kubelet has not seen it, or
// a container has not restarted.
func (p *Pod) updating() bool {
	if p.Update.Revision == "" {
		return false
	}
	if p.Update.Begun {
		return true
	}
	if p.Observed > 0 && p.Observed < p.Generation {
		return true
	}
	for name, before := range p.Update.Restarts {
		restarted := false
		for _, c := range p.Containers {
			restarted = restarted || c.Name == name && c.Running && c.ID != before
		}
		if !restarted {
			return true
		}
	}
	return false
}

// runsAsBefore reports whether a container that has to restart still runs. Another update now could give the container the
// image that it runs already, and it would never restart.
func (p *Pod) runsAsBefore() bool {
	return p.updating() && slices.ContainsFunc(p.Containers, func(c Container) bool {
		before, restarts := p.Update.Restarts[c.Name]
		return restarts && c.Running && c.ID == before
	})
}

// restarts returns the containers whose images change, with their present IDs.
func restarts(pod *Pod, change Change) map[string]string {
	ids := map[string]string{}
	for _, c := range pod.Containers {
		if _, changes := change.Images[c.Name]; changes {
			ids[c.Name] = c.ID
		}
	}
	return ids
}
