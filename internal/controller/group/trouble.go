package group

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// trouble remembers since when requests for a group fail, so that people are
// told of what lasts, and not of what the next attempt mends. The zero value is
// ready to use, from several goroutines.
type trouble struct {
	mu    sync.Mutex
	since map[plan.Key]time.Time
}

// tell returns what to tell people about how a round ended at a time: nothing
// when it went well or the world had moved on, at once when something is
// forbidden, and after a while when requests go on failing.
func (t *trouble) tell(key plan.Key, now time.Time, err error) (because plan.Refusal, lasts bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil || reason.ClassOf(err) == reason.Moved || errors.Is(err, context.Canceled) {
		delete(t.since, key)
		return plan.Refusal{}, false
	}
	if t.since == nil {
		t.since = map[plan.Key]time.Time{}
	}
	since, known := t.since[key]
	if !known {
		since = now
		t.since[key] = now
	}
	if apierrors.IsForbidden(err) {
		return plan.Refusal{Code: reason.RequestForbidden, Detail: answered(err)}, true
	}
	return plan.Refusal{Code: reason.RequestFailing, Detail: answered(err)}, now.Sub(since) >= tellAfter
}

func (t *trouble) forget(key plan.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, key)
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
