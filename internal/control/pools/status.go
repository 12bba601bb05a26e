package pools

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	cluster "github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// Permissions returns the permissions of this package.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: cluster.Resource.Group, Resource: cluster.Resource.Resource + "/status", Verbs: []string{"patch"}, Why: "write the status of StatefulClusters"},
	}
}

const (
	// writesApart is the time between two writes of the status of one StatefulCluster. After a failed one, it doubles with each
	// further failure, up to mostApart.
	writesApart, mostApart = time.Second, 30 * time.Second
	// failuresLast is how many writes in succession fail before that is more than a passing failure. More than mostFailures are not
	// counted: the pause does not grow any more.
	failuresLast, mostFailures = 4, 6
)

// statuses remembers the last status that this process has written for each StatefulCluster, so that it writes only changes,
// and not more than one a second. A write that failed is tried again.
type statuses struct {
	mu   sync.Mutex
	last map[plan.Key]written
}

type written struct {
	text uint64 // a hash of it
	at   time.Time

	failed int // how many writes have failed since the last one that did not
}

// pause returns the time until the next write.
func (w written) pause() time.Duration {
	return min(mostApart, writesApart<<max(0, w.failed-1))
}

// seed is that of the hashes of this process.
var seed = maphash.MakeSeed()

func (s *statuses) forget(key plan.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, key)
}

// write writes the status of a pool if it has changed, and the object is still at the version that the process was shown: another one
// may have written which revision pods had (ADR 47). It returns when to reconcile again because the last write was too short a time
// ago, or has failed; 0: not for that.
func (s *statuses) write(ctx context.Context, c *Controller, seen pool.Snapshot, steps []plan.Action) (again time.Duration) {
	if !seen.Object.Exists() || c.DryRun {
		return 0
	}
	status := statusOf(seen, steps)
	text, err := json.Marshal(status)
	if err != nil {
		return 0
	}
	if write, rest := s.changed(seen.Key, seen.Object.UID+string(text), time.Now()); !write {
		return rest
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": seen.Object.UID},
		{"op": "test", "path": "/metadata/resourceVersion", "value": seen.Object.Version.String()},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return 0
	}
	_, err = c.Client.Resource(cluster.Resource).Namespace(seen.Key.Namespace).Patch(ctx, seen.Key.Name, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	rest, lasts := s.ended(seen.Key, err)
	if entry := c.Log.WithContext(ctx).WithFields(fields(seen.Key)).WithError(err); lasts {
		entry.WithField("retry_in", rest.String()).Warn("the status cannot be written")
	} else if err != nil {
		entry.Debug("the status was not written")
	}
	return rest
}

// ended records the result of a write. If it failed, rest is the time until the next one, and lasts reports whether others have failed
// before it.
func (s *statuses) ended(key plan.Key, err error) (rest time.Duration, lasts bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[key]
	if err == nil {
		last.failed = 0
		s.last[key] = last
		return 0, false
	}
	last.text, last.failed = 0, min(last.failed+1, mostFailures)
	s.last[key] = last
	return last.pause(), last.failed >= failuresLast
}

// changed reports whether a status is to be written now. If it has changed and is not, rest is the time until then.
func (s *statuses) changed(key plan.Key, text string, now time.Time) (write bool, rest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[plan.Key]written{}
	}
	last, hashed := s.last[key], maphash.String(seed, text)
	if last.text == hashed {
		return false, 0
	}
	if rest = last.at.Add(last.pause()).Sub(now); rest > 0 {
		return false, rest
	}
	s.last[key] = written{hashed, now, last.failed}
	return true, 0
}

func statusOf(seen pool.Snapshot, steps []plan.Action) v1alpha1.StatefulClusterStatus {
	d := pool.Describe(seen, steps)
	status := v1alpha1.StatefulClusterStatus{
		ObservedGeneration: seen.Object.Generation,
		Replicas:           int32(d.Replicas), ReadyReplicas: int32(d.Ready), AvailableReplicas: int32(d.Available), UnhealthyReplicas: int32(d.Unhealthy),
		CurrentReplicas: int32(d.AtCurrent), UpdatedReplicas: int32(d.Updated),
		UpdatedReadyReplicas: int32(d.UpdatedReady), RetiredIdentities: int32(d.RetiredIdentities), RetiredClaims: int32(d.RetiredClaims),
		TerminatingReplicas: int32(d.Terminating), CurrentRevision: d.Current, UpdateRevision: d.Newest, Selector: seen.Object.Selector, Holder: seen.Hold.Holder.Plain(),
		Trace:      traceID(seen.Hold.Rollouts),
		Conditions: conditions(&seen, d, steps),
	}
	if !d.Waiting.None() {
		status.Waiting = &v1alpha1.PoolWaiting{
			Reason: string(d.Waiting.Code), Pod: plan.Plain(d.Waiting.Pod, longestName), Message: plan.Plain(d.Waiting.Sentence(), longestMessage),
			Until: v1alpha1.Moment(d.Waiting.Deadline()),
		}
	}
	return status
}

// traceID returns the ID of the trace of the present update or, if there is none, of the last one; empty if it is not sampled.
func traceID(r plan.Rollouts) string {
	for _, update := range append([]plan.RolledGroup{r.Current}, r.Finished...) {
		switch {
		case update.Traced():
			return record.TraceID(update.Trace)
		case update.Begun():
			return ""
		}
	}
	return ""
}
