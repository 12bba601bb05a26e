package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// PreparePods asks who leaves by a downscale of lockstep's own to prepare. Their answers are not waited
// for: they are in a later snapshot.
type PreparePods struct {
	Downscale Downscale
	Pods      []Pod
	Within    time.Duration // how long they may take
}

// Reason implements Action.
func (PreparePods) Reason() reason.Code { return reason.DownscaleAdmitted }

// Effect implements Action. Nothing is written before pods are called that would say whether the hold is
// still as it is known, so it is read.
func (a PreparePods) Effect() Effect {
	return Effect{Zone: a.Downscale.Zone, Order: Calling, Read: Always}
}

// Event implements Action.
func (PreparePods) Event() Event { return Event{} }

// String implements Action: prepare zone-a from 5 to 3 preparing at zone-a-3 zone-a-4.
func (a PreparePods) String() string {
	return fmt.Sprintf("prepare %s at %s", a.Downscale, namesOf(a.Pods))
}

func namesOf(pods []Pod) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = pod.Name
	}
	return strings.Join(names, " ")
}
