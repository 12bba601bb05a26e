package pool

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// stuck returns the first pod that has got the newest template and has not become available within the deadline; none: the
// update makes progress, or there is none. A pod that was Ready in between and failed later does not count: then the update is
// not the cause.
func (s *Snapshot) stuck() plan.Refusal {
	for i := range s.Pods {
		if since, late := s.lateSince(&s.Pods[i]); late && !s.Now.Before(since) {
			return plan.Refusal{Code: reason.ProgressDeadlineExceeded, Pod: s.Pods[i].Name, Detail: s.Pods[i].Why}
		}
	}
	return plan.Refusal{}
}

// lateSince returns when a pod with the newest template is late, if it does not become available before.
func (s *Snapshot) lateSince(pod *Pod) (time.Time, bool) {
	newest := s.Newest().Name
	if s.Object.Deadline == 0 || newest == "" || pod.Revision != newest || !s.owns(pod) || !pod.Active() || s.available(pod) {
		return time.Time{}, false
	}
	late := latest(pod.Created.Time(), pod.Update.Since).Add(s.Object.Deadline)
	return late, !pod.NotReady.After(late)
}
