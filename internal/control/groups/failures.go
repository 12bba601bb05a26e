package groups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	// forbiddenAfter is how long a request must be forbidden before it is reported: right after
	// an opt-in, admission may see the label later than lockstep.
	forbiddenAfter = time.Second
	// movedAfter is how long plans must be outdated by changes before it is reported.
	movedAfter = 30 * time.Second
)

// failures stores since when requests for a group fail, so that lasting failures are reported
// and short ones are not. The zero value is ready to use, and safe for concurrent use.
type failures struct {
	mu    sync.Mutex
	since map[plan.Key]time.Time
}

// observe returns what to report about a round that ended with err at the time now: nothing after
// a success, soon if a request is forbidden, and after a while if requests keep failing or keep
// meeting changed objects.
func (t *failures) observe(key plan.Key, now time.Time, err error) (because plan.Refusal, lasts bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failure := worst(err)
	if failure == nil {
		delete(t.since, key)
		return plan.Refusal{}, false
	}
	if t.since == nil {
		t.since = map[plan.Key]time.Time{}
	}
	since, known := t.since[key]
	if !known || now.Before(since) { // the clock was set back
		since = now
		t.since[key] = now
	}
	because = refusalOf(failure)
	switch {
	case apierrors.IsForbidden(failure):
		return because, now.Sub(since) >= forbiddenAfter
	case reason.ClassOf(failure) == reason.Moved:
		return because, now.Sub(since) >= movedAfter
	}
	return because, now.Sub(since) >= reportAfter
}

func (t *failures) forget(key plan.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, key)
}

// worst returns the most severe of several joined errors. A forbidden request comes before a
// failed one, and that before a request that met a changed object. It ignores errors that mean
// the end of this process.
func worst(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // as errors.Join makes them
		var found error
		for _, one := range joined.Unwrap() {
			if w := worst(one); weight(w) > weight(found) {
				found = w
			}
		}
		return found
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func weight(err error) int {
	switch {
	case err == nil:
		return 0
	case apierrors.IsForbidden(err):
		return 3
	case reason.ClassOf(err) == reason.Moved:
		return 1
	}
	return 2
}

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
					failed[zone] = refusalOf(err)
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

// refusalOf returns what to report about the failure of a request.
func refusalOf(failure error) plan.Refusal {
	because := plan.Refusal{Code: reason.RequestFailing, Detail: answerOf(failure)}
	if apierrors.IsForbidden(failure) {
		because.Code = reason.RequestForbidden
	}
	return because
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

// answerOf returns the API server's answer in a word. Its message may quote text of other
// users, so only the log contains it.
func answerOf(err error) string {
	why := apierrors.ReasonForError(err)
	var status apierrors.APIStatus
	switch {
	case why != metav1.StatusReasonUnknown:
		return string(why)
	case errors.As(err, &status) && status.Status().Code > 0: // as webhooks refuse that give no reason
		return fmt.Sprintf("code %d", status.Status().Code)
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return "no answer"
}
