package admission

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// A Judge decides about changes. It has no error to return: what it cannot know
// leads to a verdict as well.
type Judge interface {
	// Judge decides before ctx ends.
	Judge(ctx context.Context, c Change) Verdict
	// Doubt decides about a request that cannot be judged, and says why.
	Doubt(why reason.Code, about string) Verdict
}

// Verdict is what the API server is told.
type Verdict struct {
	Allowed bool
	// Reason is the metric label, never free text.
	Reason reason.Code
	// Group is the group that was judged, where one was.
	Group plan.Key
	// Code is the HTTP status that the caller gets with a refusal.
	Code int
	// Message says in a refusal what stands in the way.
	Message string
	// Warnings are shown to the caller whatever the verdict is, each in at most 256
	// characters.
	Warnings []string
	// Patch is a JSON patch of the object under review. Only who judges for a
	// mutating webhook gives one, and of a Change only with an Allowed full-object one.
	Patch []byte
}

// Allow is the verdict that lets a change pass.
func Allow(why reason.Code) Verdict { return Verdict{Allowed: true, Reason: why} }

// Deny refuses with an HTTP status: 403 for what stays refused, 429 for what may
// pass later, 409 for what cannot succeed as it is, 404 for what is about nothing
// any more.
func Deny(code int, why reason.Code, message string) Verdict {
	return Verdict{Code: code, Reason: why, Message: message}
}

// of says which group was judged.
func (v Verdict) of(group plan.Key) Verdict {
	v.Group = group
	return v
}

// unseeing reports whether it refuses for what this replica could not see.
func (v Verdict) unseeing() bool {
	return !v.Allowed && (v.Reason == reason.CacheNotSynced || v.Reason == reason.CacheStale || v.Reason == reason.ParentUnknown)
}

// inWords says what stands in the way and, if that is known, for how long.
func inWords(because plan.Refusal, now time.Time) string {
	entry, _ := reason.Explain(because.Code)
	return fmt.Sprintf("(%s): %s%s", because, entry.Sentence, lasting(because, now))
}

// lasting says for how long a refusal counts, if that is known. Others may prolong some.
func lasting(because plan.Refusal, now time.Time) string {
	left := because.Until.Sub(now).Round(time.Second)
	switch {
	case because.Until.IsZero() || left <= 0:
	case because.Code == reason.QueuedBehindOtherZone:
		return fmt.Sprintf("; its place in the queue lapses in %s unless it asks again", left)
	case because.Code == reason.GroupHeld:
		return fmt.Sprintf("; the hold expires in %s unless it is renewed", left)
	default:
		return fmt.Sprintf("; for at most %s", left)
	}
	return ""
}

// Refusals of who did not get as far as the hold.
var (
	noTurn    = plan.Refusal{Code: reason.GroupHeld, Detail: "too many requests at a time"}
	overtaken = plan.Refusal{Code: reason.GroupHeld, Detail: "others keep writing its hold"}
)

// statusOf is the HTTP status of a refusal. Who drains asks again after 429 and nothing
// else; a pod that does not exist he takes for evicted.
func statusOf(why reason.Code) int {
	entry, _ := reason.Explain(why)
	switch {
	case why == reason.PodNotFound:
		return http.StatusNotFound
	case why == reason.StaleHold, why == reason.ZoneLeftGroup: // the Lease may be renewed, and the zone be back, any moment
		return http.StatusTooManyRequests
	case entry.Kind == reason.Attention:
		return http.StatusForbidden
	}
	return http.StatusTooManyRequests
}

// status is the verdict as the caller of the API server gets to see it.
// Details stay unset: retryAfterSeconds would make clients repeat the call.
func (v Verdict) status() *metav1.Status {
	if v.Allowed {
		if v.Message == "" {
			return nil
		}
		return &metav1.Status{Message: v.Message}
	}
	status := &metav1.Status{Status: metav1.StatusFailure, Code: int32(v.Code), Message: v.Message}
	switch v.Code {
	case http.StatusBadRequest:
		status.Reason = metav1.StatusReasonBadRequest
	case http.StatusForbidden:
		status.Reason = metav1.StatusReasonForbidden
	case http.StatusNotFound:
		status.Reason = metav1.StatusReasonNotFound
	case http.StatusConflict:
		status.Reason = metav1.StatusReasonConflict
	case http.StatusTooManyRequests:
		status.Reason = metav1.StatusReasonTooManyRequests
	}
	return status
}
