// Package failing decides when failing requests are reported: not those that succeed when they are tried again soon.
package failing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	// forbiddenAfter is how long a request must be forbidden before it is reported: right after
	// an opt-in, admission may see the label later than lockstep.
	forbiddenAfter = time.Second
	// movedAfter is how long plans must be outdated by changes before it is reported.
	movedAfter = 30 * time.Second
	// reportAfter is how long other requests must fail before it is reported.
	reportAfter = 5 * time.Second
)

// Log stores since when requests for a workload fail, so that lasting failures are reported
// and short ones are not. The zero value is ready to use, and safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	since map[plan.Key]time.Time
}

// Observe returns what to report about a round that ended with err at the time now: nothing after
// a success, at once if only a person can help, soon if a request is forbidden, and after a while if
// requests keep failing or keep meeting changed objects.
func (t *Log) Observe(key plan.Key, now time.Time, err error) (because plan.Refusal, lasts bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failure := Worst(err)
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
	because = RefusalOf(failure)
	switch {
	case reason.ClassOf(failure) == reason.Human:
		return because, true
	case apierrors.IsForbidden(failure):
		return because, now.Sub(since) >= forbiddenAfter
	case reason.ClassOf(failure) == reason.Moved:
		return because, now.Sub(since) >= movedAfter
	}
	return because, now.Sub(since) >= reportAfter
}

// Forget drops what is known of a workload.
func (t *Log) Forget(key plan.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, key)
}

// Worst returns the most severe of several joined errors. A forbidden request comes before a
// failed one, and that before a request that met a changed object. It ignores errors that mean
// the end of this process.
func Worst(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // as errors.Join makes them
		var found error
		for _, one := range joined.Unwrap() {
			if w := Worst(one); weight(w) > weight(found) {
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

// RefusalOf returns what to report about the failure of a request: its own code, if it has one.
func RefusalOf(failure error) plan.Refusal {
	because := plan.Refusal{Code: reason.RequestFailing, Detail: answerOf(failure)}
	if apierrors.IsForbidden(failure) {
		because.Code = reason.RequestForbidden
	}
	if own := reason.CodeOf(failure); own != "" {
		because.Code = own
	}
	return because
}

// Message returns the message of the API server, or of lockstep, for the status of an object of the namespace in which the
// request failed: it may quote text of that namespace.
func Message(failure error) string {
	var status apierrors.APIStatus
	if errors.As(failure, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return failure.Error()
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
