package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// NotifyPods notifies pods of a zone with a delay that they will leave, or that they stay. The executor
// does not wait for their answers: a later snapshot has them.
type NotifyPods struct {
	Zone    string
	Message Message
	Call    Call // that notifies them
	Former  bool // the zone has another call now, or none
	Pods    []plan.Pod
}

// Reason implements Action.
func (NotifyPods) Reason() reason.Code { return reason.DownscaleDelayed }

// Effect implements Action. Pods are notified after the write of the Lease, because a pod that is
// notified to stay must no longer count as about to leave.
func (a NotifyPods) Effect() plan.Effect { return plan.Effect{Zone: a.Zone, Order: plan.Notifying} }

// Event implements Action.
func (NotifyPods) Event() plan.Event { return plan.Event{} }

// String implements Action: send leave to zone-a-3 zone-a-4.
func (a NotifyPods) String() string {
	text := fmt.Sprintf("send %s to %s", a.Message, namesOf(a.Pods))
	if a.Former {
		text += " by the former call"
	}
	return text
}
