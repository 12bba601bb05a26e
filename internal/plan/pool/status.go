package pool

import "github.com/lockstep-dev/lockstep/internal/plan"

// Status is how far a pool is.
type Status struct {
	Replicas    int // active pods
	Ready       int
	Available   int
	Updated     int
	Terminating int
	Waiting     plan.Refusal // the first wait; none: nothing is waited for
	Settled     bool         // as many available pods as asked for, at the update revision, and nothing to do
}

// Describe returns the status of a pool for which a plan was made.
func Describe(s Snapshot, steps []plan.Action) Status {
	var status Status
	for i := range s.Pods {
		switch p := &s.Pods[i]; {
		case !s.owns(p):
		case p.Phase == plan.Terminating:
			status.Terminating++
		case p.Active():
			status.Replicas++
			status.Ready += one(p.Up())
			status.Available += one(p.Available(s.Object.MinReady, s.Now))
			status.Updated += one(p.Revision == s.Object.Revision)
		}
	}
	for _, w := range plan.Only[plan.Wait](steps) {
		if status.Waiting.None() {
			status.Waiting = w.Because
		}
	}
	status.Settled = len(steps) == 0 && status.Available == s.Object.Replicas && status.Updated == status.Replicas
	return status
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
