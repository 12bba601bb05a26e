package groups

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

const (
	// diagnoseAfter is how long a pod must keep a group waiting before it is read. A failing
	// pod is read at once, because it is reported at once.
	diagnoseAfter = time.Minute
	// diagnoseAgain is the interval at which a pod is read again.
	diagnoseAgain = 5 * time.Minute
	// diagnoseAtOnce is the maximum number of pods of a group that one round reads, and
	// diagnoseTimeout limits the time for that.
	diagnoseAtOnce  = 3
	diagnoseTimeout = 2 * time.Second
)

// diagnoses stores what Kubernetes knows of pods that keep groups waiting. Pods are read when
// a lasting wait is reported. Nothing is watched for it, and no decision depends on it. The
// zero value is ready to use, and safe for concurrent use.
type diagnoses struct {
	mu sync.Mutex
	of map[plan.Key]map[string]diagnosed // by UID of the pod
}

// diagnosed is the stored state of a pod.
type diagnosed struct {
	since time.Time  // the start of the wait
	read  time.Time  // the last read; zero: none
	phase plan.Phase // at the last read
	says  string
}

// due reports whether a pod must be read.
func (d diagnosed) due(pod plan.Pod, now time.Time) bool {
	if d.read.IsZero() || d.phase != pod.Phase {
		return pod.Phase == plan.Failing || now.Sub(d.since) >= diagnoseAfter
	}
	return now.Sub(d.read) >= diagnoseAgain
}

// diagnosed returns the steps for the report. Waits that name a pod contain what Kubernetes
// knows of it.
func (c *Controller) diagnosed(ctx context.Context, s group.Snapshot, steps []plan.Action) []plan.Action {
	pods := waitedFor(s, steps)
	known := c.diagnoses.known(s.Key)
	now := map[string]diagnosed{}
	ctx, stop := context.WithTimeout(ctx, diagnoseTimeout)
	defer stop()
	reads := 0
	for _, pod := range pods {
		d, again := known[pod.UID]
		if !again || s.Now.Before(d.since) { // the clock was set back
			d = diagnosed{since: s.Now}
		}
		if d.due(pod, s.Now) && reads < diagnoseAtOnce {
			reads++
			d.read, d.phase, d.says = s.Now, pod.Phase, c.diagnose(ctx, s.Key, pod)
		}
		now[pod.UID] = d
	}
	c.diagnoses.keep(s.Key, now)
	return withDiagnoses(s, steps, now)
}

// diagnose reads a pod. If that fails, the report contains less.
func (c *Controller) diagnose(ctx context.Context, key plan.Key, pod plan.Pod) string {
	facts, err := c.Observer.Diagnose(ctx, key.Namespace, pod)
	if err != nil {
		c.Log.WithContext(ctx).WithFields(fields(key)).WithError(err).Debug("a pod that keeps a group waiting could not be read")
	}
	return diagnosis.Clauses(facts)
}

// waitedFor returns the pods that waits name and that are not Ready, without duplicates.
func waitedFor(s group.Snapshot, steps []plan.Action) []plan.Pod {
	var pods []plan.Pod
	for _, step := range steps {
		w, waits := step.(plan.Wait)
		if !waits || w.Because.Pod == "" {
			continue
		}
		pod, exists := s.Pod(w.Because.Pod)
		same := func(other plan.Pod) bool { return other.UID == pod.UID }
		if exists && !pod.Up() && !slices.ContainsFunc(pods, same) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// withDiagnoses adds the stored state of pods to waits.
func withDiagnoses(s group.Snapshot, steps []plan.Action, known map[string]diagnosed) []plan.Action {
	reported := slices.Clone(steps)
	for i, step := range reported {
		w, waits := step.(plan.Wait)
		if !waits || w.Because.Pod == "" {
			continue
		}
		pod, _ := s.Pod(w.Because.Pod)
		if says := known[pod.UID].says; says != "" {
			if w.Because.Detail != "" {
				says = w.Because.Detail + "; " + says
			}
			w.Because.Detail = says
			reported[i] = w
		}
	}
	return reported
}

func (d *diagnoses) known(key plan.Key) map[string]diagnosed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[key]
}

// keep stores the state of a group's pods and drops its other pods.
func (d *diagnoses) keep(key plan.Key, pods map[string]diagnosed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(pods) == 0 {
		delete(d.of, key)
		return
	}
	if d.of == nil {
		d.of = map[plan.Key]map[string]diagnosed{}
	}
	d.of[key] = pods
}

func (d *diagnoses) forget(key plan.Key) { d.keep(key, nil) }
