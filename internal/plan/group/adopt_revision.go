package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// AdoptRevision writes status.currentRevision at the end of a zone's rollout. Kubernetes does that only
// for RollingUpdate.
type AdoptRevision struct {
	Zone     string
	UID      string
	Version  plan.Version
	Revision string
}

// Reason implements Action.
func (AdoptRevision) Reason() reason.Code { return reason.RevisionComplete }

// Effect implements Action.
func (a AdoptRevision) Effect() plan.Effect {
	return plan.Effect{Zone: a.Zone, Order: plan.UnderHold, Visible: true}
}

// Event implements Action.
func (a AdoptRevision) Event() plan.Event {
	return plan.Event{
		Zone: a.Zone, Action: "AdoptRevision",
		Note: fmt.Sprintf("made %s the current revision: %s", a.Revision, a.Reason().Sentence()),
	}
}

// String implements Action: adopt web-6f9c4 in zone-a.
func (a AdoptRevision) String() string { return fmt.Sprintf("adopt %s in %s", a.Revision, a.Zone) }
