package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ReportReplicas writes into the status of a resource how many replicas the zones have that mirror
// it. It requires the UID and the resourceVersion.
type ReportReplicas struct {
	Zone      string // one of the zones that mirror the resource
	Reference Reference
	UID       string
	Version   string
	From      int
	To        int
}

// Reason implements Action.
func (ReportReplicas) Reason() reason.Code { return reason.ReferenceMirrored }

// Effect implements Action.
func (a ReportReplicas) Effect() plan.Effect {
	return plan.Effect{Zone: a.Zone, Order: plan.WithoutHold, Visible: true}
}

// Event implements Action.
func (ReportReplicas) Event() plan.Event { return plan.Event{} }

// String implements Action: report 5 to ReplicaTemplate.rollout-operator.grafana.com web for zone-a.
func (a ReportReplicas) String() string {
	return fmt.Sprintf("report %d to %s for %s", a.To, a.Reference, a.Zone)
}
