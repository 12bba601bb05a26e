package rolloutgroup

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// rolloutOf returns the rollout that is under way, if one is, with so many pods left.
func rolloutOf(s plan.Snapshot, left int) *v1alpha1.RolloutGroupRollout {
	current := s.Hold.Rollouts.Current
	since := moment(current.Since)
	if since == nil || current.Over() {
		return nil
	}
	return &v1alpha1.RolloutGroupRollout{
		Since: *since, TraceID: traceID(current.Trace), EstimatedEnd: estimate(s.Hold.Rollouts, left, s.Now),
	}
}

// estimate returns when a rollout ends that goes on as it did or, before its first
// pod was replaced, as the last one: to the minute, so that it is not another one
// at every look.
func estimate(r plan.Rollouts, left int, now time.Time) *metav1.Time {
	each := forEach(r.Current, now)
	for _, former := range r.Finished {
		if each > 0 {
			break
		}
		each = forEach(former, former.Until)
	}
	if each <= 0 {
		return nil
	}
	return moment(now.Add(time.Duration(left) * each).Add(time.Minute - 1).Truncate(time.Minute))
}

// forEach returns how long a rollout took for each pod until a time; 0: it cannot be
// told.
func forEach(r plan.RolledGroup, until time.Time) time.Duration {
	replaced := 0
	for _, z := range r.Zones {
		replaced += z.Replaced
	}
	if replaced == 0 || !until.After(r.Since) {
		return 0
	}
	return until.Sub(r.Since) / time.Duration(replaced)
}

// traceID returns the trace of a W3C traceparent, which is text of a Lease.
func traceID(parent string) string {
	const version, length = "00-", len("00-") + 32
	if len(parent) < length || !strings.HasPrefix(parent, version) {
		return ""
	}
	id := parent[len(version):length]
	if strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}
