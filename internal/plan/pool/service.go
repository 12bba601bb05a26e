package pool

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ServiceLook is what a look at the Service of the object has shown.
type ServiceLook struct {
	At         time.Time
	Generation int64  // of the object at that time; 0: there was no look
	Missing    string // in what the Service does not give pods their host names; empty: it does
}

// lookForServiceAgain is how long a look at a Service that is missing counts.
const lookForServiceAgain = 30 * time.Second

// LookUpService finds out whether the headless Service of the object exists. Nothing waits for it.
type LookUpService struct{ Pool, Service string }

// Reason implements plan.Action.
func (LookUpService) Reason() reason.Code { return reason.ServiceLookedUp }

// Effect implements plan.Action. Nothing changes.
func (a LookUpService) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold}
}

// Event implements plan.Action.
func (LookUpService) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: look up Service web.
func (a LookUpService) String() string { return "look up Service " + a.Service }

// service looks up the Service for each generation of the object, and one that was missing again with births and after a while.
func (p *poolState) service(births []plan.Action) []plan.Action {
	look := p.Service
	again := look.Missing != "" && (len(births) > 0 || !p.serviceIsDue().After(p.Now))
	if p.Object.Service == "" || look.Generation == p.Object.Generation && !again {
		return nil
	}
	return []plan.Action{LookUpService{Pool: p.Key.Name, Service: p.Object.Service}}
}

// serviceIsDue returns when a Service that was missing is looked up again.
func (p *poolState) serviceIsDue() time.Time { return p.Service.At.Add(lookForServiceAgain) }
