package group

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// diagnoseAfter is for how long a pod keeps a group waiting before it is read. One that
	// fails is read at once, since people are told of it at once.
	diagnoseAfter = time.Minute
	// diagnoseAgain is how often it is read while it lasts.
	diagnoseAgain = 5 * time.Minute
	// diagnoseAtOnce is how many pods of a group are read in one round, and
	// diagnoseTimeout is how long that may take.
	diagnoseAtOnce  = 3
	diagnoseTimeout = 2 * time.Second
)

// diagnoses remembers what Kubernetes knows of pods that keep groups waiting. It is read
// when people are told of a wait that lasts; nothing is watched for it, and nothing is
// decided by it. The zero value is ready to use, from several goroutines.
type diagnoses struct {
	mu sync.Mutex
	of map[plan.Key]map[string]diagnosed // by UID of the pod
}

// diagnosed is what is remembered of a pod.
type diagnosed struct {
	since time.Time  // when it was first waited for
	read  time.Time  // when it was read last; zero: it was not
	phase plan.Phase // at that time
	says  string
}

// due reports whether a pod is to be read.
func (d diagnosed) due(pod plan.Pod, now time.Time) bool {
	if d.read.IsZero() || d.phase != pod.Phase {
		return pod.Phase == plan.Failing || now.Sub(d.since) >= diagnoseAfter
	}
	return now.Sub(d.read) >= diagnoseAgain
}

// diagnosed returns steps as people are told them: waits say what Kubernetes knows of the
// pod that they name.
func (c *Controller) diagnosed(ctx context.Context, s plan.Snapshot, steps []plan.Action) []plan.Action {
	pods := awaited(s, steps)
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

// diagnose reads a pod. Where that fails, less is told.
func (c *Controller) diagnose(ctx context.Context, key plan.Key, pod plan.Pod) string {
	facts, err := c.Observer.Diagnose(ctx, key.Namespace, pod)
	if err != nil {
		c.Log.WithContext(ctx).WithFields(fields(key)).WithError(err).Debug("a pod that is waited for could not be read")
	}
	return diagnosis.Clauses(facts)
}

// awaited returns the pods that waits name and that are not Ready, each once.
func awaited(s plan.Snapshot, steps []plan.Action) []plan.Pod {
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

// withDiagnoses adds to waits what is known of their pods.
func withDiagnoses(s plan.Snapshot, steps []plan.Action, known map[string]diagnosed) []plan.Action {
	told := slices.Clone(steps)
	for i, step := range told {
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
			told[i] = w
		}
	}
	return told
}

func (d *diagnoses) known(key plan.Key) map[string]diagnosed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[key]
}

// keep remembers what is known of the pods of a group, and forgets others of it.
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
