package groups

import (
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockstep-dev/lockstep/internal/control/failing"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// withFailures returns a plan for the report. If requests for a zone fail, the zone waits for
// them, whatever else it would wait for.
func withFailures(steps, waits []plan.Action) []plan.Action {
	stalls := map[string]bool{}
	for _, step := range waits {
		stalls[waitingZone(step)] = true
	}
	superseded := func(step plan.Action) bool { return stalls[waitingZone(step)] }
	return slices.Concat(slices.DeleteFunc(slices.Clone(steps), superseded), waits)
}

// waitingZone returns the zone in which a step waits, or "".
func waitingZone(step plan.Action) string {
	if wait, is := step.(plan.Wait); is {
		return wait.Zone
	}
	return ""
}

// notSent is the reason of a zone whose requests were left out of a plan, of which others failed.
var notSent = plan.Refusal{Code: reason.RequestFailing, Detail: "not sent yet, because other requests failed slowly"}

// stalled returns a wait for each zone with a failed step, and for each zone with a step that was left out because
// others failed; its reason is that of its last attempt, if that failed. If no step failed, the hold could not be
// written, so stalled returns a wait for each zone with any step.
func stalled(steps []plan.Action, done []plan.Receipt, because plan.Refusal, lastFailure func(plan.Action) error) []plan.Action {
	failed := map[string]plan.Refusal{}
	for _, receipt := range done {
		if zone := receipt.Step.Effect().Zone; receipt.Err != nil && !errors.Is(receipt.Err, plan.ErrNotSent) && failed[zone].None() {
			failed[zone] = refused(receipt, because)
		}
	}
	if len(failed) == 0 {
		for _, step := range steps {
			failed[step.Effect().Zone] = because
		}
	} else {
		for _, step := range leftOut(steps, done) {
			if zone := step.Effect().Zone; failed[zone].None() {
				failed[zone] = notSent
				if err := lastFailure(step); err != nil {
					failed[zone] = failing.RefusalOf(err)
				}
			}
		}
	}
	var waits []plan.Action
	for _, zone := range slices.Sorted(maps.Keys(failed)) {
		if zone != "" {
			waits = append(waits, plan.Wait{Zone: zone, Because: failed[zone]})
		}
	}
	return waits
}

// refused returns the reason to report for a failed step. Users grant the permission to write
// references of kinds that they chose, so a missing one has its own reason.
func refused(receipt plan.Receipt, because plan.Refusal) plan.Refusal {
	report, is := receipt.Step.(group.ReportReplicas)
	if !is || !apierrors.IsForbidden(receipt.Err) {
		return because
	}
	return plan.Refusal{Code: reason.ReferenceForbidden, Detail: "patch the status of " + report.Reference.String()}
}
