package group

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	// forbiddenAfter is for how long a request must be forbidden before people are
	// told: right after an opt-in, admission may hear of it later than lockstep.
	forbiddenAfter = time.Second
	// movedAfter is for how long the world must move on under every plan.
	movedAfter = 30 * time.Second
)

// trouble remembers since when requests for a group fail, so that people are
// told of what lasts, and not of what the next attempt mends. The zero value is
// ready to use, from several goroutines.
type trouble struct {
	mu    sync.Mutex
	since map[plan.Key]time.Time
}

// tell returns what to tell people about a round that ended at a time with an
// error: nothing when it went well, soon when something is forbidden, and after a
// while when requests go on failing, or find that the world has moved on.
func (t *trouble) tell(key plan.Key, now time.Time, err error) (because plan.Refusal, lasts bool) {
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
	because = plan.Refusal{Code: reason.RequestFailing, Detail: answered(failure)}
	switch {
	case apierrors.IsForbidden(failure):
		because.Code = reason.RequestForbidden
		return because, now.Sub(since) >= forbiddenAfter
	case reason.ClassOf(failure) == reason.Moved:
		return because, now.Sub(since) >= movedAfter
	}
	return because, now.Sub(since) >= tellAfter
}

func (t *trouble) forget(key plan.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, key)
}

// worst returns the error to tell of, of several that were joined: what is
// forbidden before what failed before what only means a changed world, and nothing
// that means an end of this process.
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

// overruled returns a plan as people are told it: where requests fail, that is what the
// zone waits for, whatever else it would wait for.
func overruled(steps []plan.Action, done []plan.Receipt, because plan.Refusal) []plan.Action {
	waits := stalled(steps, done, because)
	stalls := map[string]bool{}
	for _, step := range waits {
		stalls[waitsIn(step)] = true
	}
	superseded := func(step plan.Action) bool { return stalls[waitsIn(step)] }
	return slices.Concat(slices.DeleteFunc(slices.Clone(steps), superseded), waits)
}

// waitsIn returns the zone in which a step waits, or else "".
func waitsIn(step plan.Action) string {
	if wait, is := step.(plan.Wait); is {
		return wait.Zone
	}
	return ""
}

// stalled returns a wait for each zone in which the plan wanted something that
// failed; where that was the hold, in which it wanted anything.
func stalled(steps []plan.Action, done []plan.Receipt, because plan.Refusal) []plan.Action {
	failed := map[string]plan.Refusal{}
	for _, receipt := range done {
		if zone := receipt.Step.Effect().Zone; receipt.Err != nil && failed[zone].None() {
			failed[zone] = refused(receipt, because)
		}
	}
	var waits []plan.Action
	seen := map[string]bool{}
	for _, step := range steps {
		zone := step.Effect().Zone
		why, here := failed[zone]
		if len(failed) == 0 {
			why, here = because, true
		}
		if zone != "" && !seen[zone] && here {
			seen[zone] = true
			waits = append(waits, plan.Wait{Zone: zone, Because: why})
		}
	}
	return waits
}

// refused returns what to tell of a step that failed: a right that people give for
// a kind that they chose is another one than those that come with lockstep.
func refused(receipt plan.Receipt, because plan.Refusal) plan.Refusal {
	report, is := receipt.Step.(plan.ReportReplicas)
	if !is || !apierrors.IsForbidden(receipt.Err) {
		return because
	}
	return plan.Refusal{Code: reason.ReferenceForbidden, Detail: "patch the status of " + report.Reference.String()}
}

// answered says in a word what the API server answered. Its message may quote
// anybody's text, so that is for the log alone.
func answered(err error) string {
	why := apierrors.ReasonForError(err)
	switch {
	case why != metav1.StatusReasonUnknown:
		return string(why)
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return "no answer"
}
