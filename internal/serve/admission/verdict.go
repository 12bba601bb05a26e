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

// A Judge decides on changes. It returns no error: a change that it cannot judge gets a
// verdict too.
type Judge interface {
	// Judge decides before ctx ends.
	Judge(ctx context.Context, c Change) Verdict
	// Doubt decides on a request that cannot be judged; about describes the cause.
	Doubt(why reason.Code, about string) Verdict
}

// Verdict is the answer to the API server.
type Verdict struct {
	Allowed bool
	// Reason is the metric label. It is never free text.
	Reason reason.Code
	// Group is the group of the object, if it has one.
	Group plan.Key
	// Code is the HTTP status of a refusal for the client.
	Code int
	// Message is the text of the refusal.
	Message string
	// Warnings are shown to the client with any verdict. Each has at most 256
	// characters.
	Warnings []string
	// Patch is a JSON patch of the object under review. Only judges of mutating webhooks
	// return one; for a Change, only if it is allowed and the full object is under review.
	Patch []byte
}

// Allow returns a verdict that allows a change.
func Allow(why reason.Code) Verdict { return Verdict{Allowed: true, Reason: why} }

// Deny returns a refusal with an HTTP status: 403 if a retry cannot succeed, 429 if a
// later retry can, 409 if the request is outdated, 404 if the object does not exist.
func Deny(code int, why reason.Code, message string) Verdict {
	return Verdict{Code: code, Reason: why, Message: message}
}

// of returns the verdict with the group.
func (v Verdict) of(group plan.Key) Verdict {
	v.Group = group
	return v
}

// lacksData reports whether the change is refused because this replica lacks data.
func (v Verdict) lacksData() bool {
	return !v.Allowed && (v.Reason == reason.CacheNotSynced || v.Reason == reason.CacheStale || v.Reason == reason.ParentUnknown)
}

// describe returns the reason of a refusal and, if it is known, how long it lasts.
func describe(because plan.Refusal, now time.Time) string {
	entry, _ := reason.Explain(because.Code)
	return fmt.Sprintf("(%s): %s%s", because, entry.Sentence, duration(because, now))
}

// duration returns how long a refusal lasts, if it is known. Other clients can prolong some refusals.
func duration(because plan.Refusal, now time.Time) string {
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

// Refusals of requests that did not reach the hold.
var (
	tooManyRequests = plan.Refusal{Code: reason.GroupHeld, Detail: "too many requests at a time"}
	holdContended   = plan.Refusal{Code: reason.GroupHeld, Detail: "other writers keep changing its hold"}
)

// statusOf returns the HTTP status of a refusal. Drains retry only after 429, and treat 404 as
// a successful eviction.
func statusOf(why reason.Code) int {
	entry, _ := reason.Explain(why)
	switch {
	case why == reason.PodNotFound:
		return http.StatusNotFound
	case why == reason.StaleHold, why == reason.ZoneLeftGroup: // the Lease may be renewed, or the zone return, at any moment
		return http.StatusTooManyRequests
	case entry.Kind == reason.Attention:
		return http.StatusForbidden
	}
	return http.StatusTooManyRequests
}

// status returns the verdict as the client of the API server sees it. Details stay unset,
// because retryAfterSeconds would make clients repeat the request.
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
