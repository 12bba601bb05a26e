package group

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// PreparePods calls the pods that leave by a downscale of lockstep's own, so that they prepare. The
// executor does not wait for their answers: a later snapshot has them.
type PreparePods struct {
	Downscale Downscale
	Pods      []plan.Pod
	Within    time.Duration // time limit for the answers
}

// Reason implements Action.
func (PreparePods) Reason() reason.Code { return reason.DownscaleAdmitted }

// Effect implements Action. No write before the calls would reveal that the hold has changed, so a live
// read is required.
func (a PreparePods) Effect() plan.Effect {
	return plan.Effect{Zone: a.Downscale.Zone, Order: plan.Calling, Read: plan.Always}
}

// Event implements Action.
func (PreparePods) Event() plan.Event { return plan.Event{} }

// String implements Action: prepare zone-a from 5 to 3 preparing at zone-a-3 zone-a-4.
func (a PreparePods) String() string {
	return fmt.Sprintf("prepare %s at %s", a.Downscale, namesOf(a.Pods))
}

func namesOf(pods []plan.Pod) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = pod.Name
	}
	return strings.Join(names, " ")
}
