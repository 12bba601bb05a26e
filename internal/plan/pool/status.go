package pool

import (
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Status is how far a pool is.
type Status struct {
	Replicas    int // active pods
	Ready       int
	Available   int
	Updated     int
	AtCurrent   int // active pods at the current revision
	Unhealthy   int // pods that are asked for and not available
	Terminating int

	Outdated          int // active pods that are to get the newest template
	UpdatedReady      int
	RetiredIdentities int // that left claims
	RetiredClaims     int
	Newest            string       // the revision of the template; empty: it is not accepted
	Current           string       // the revision before it
	Waiting           plan.Refusal // the first wait; none: nothing is waited for
	Settled           bool         // as many available pods as asked for, at the update revision but for the partition, and nothing to do
	Enough            bool         // so many pods are available as stay during an update
	Invalid           plan.Refusal // why the API server refuses the template; none: it does not
	Growing           int          // claims for which more storage is being asked for
	NotGrown          plan.Refusal // why the API server refuses more storage; none: it does not
	Stuck             plan.Refusal // why the update makes no progress; none: it does, or there is none
}

// Describe returns the status of a pool for which a plan was made.
func Describe(s Snapshot, steps []plan.Action) Status {
	status := Status{Newest: s.Newest().Name, Current: s.Current().Name}
	for i := range s.Pods {
		switch p := &s.Pods[i]; {
		case !s.owns(p):
		case p.Phase == plan.Terminating:
			status.Terminating++
		case p.Active():
			status.Replicas++
			status.Ready += one(p.Up())
			status.Available += one(s.available(p))
			status.Updated += one(p.Revision == status.Newest)
			status.AtCurrent += one(p.Revision == status.Current)
			status.UpdatedReady += one(p.Revision == status.Newest && p.Up())
		}
	}
	status.RetiredIdentities, status.RetiredClaims = s.spent()
	waits := plan.Only[plan.Wait](steps)
	for i, w := range waits {
		if i == 0 {
			status.Waiting = withAwaited(w.Because, waits)
		}
		if w.Because.Code == reason.ExpansionRefused && status.NotGrown.None() {
			status.NotGrown = w.Because
		}
	}
	status.Growing = len(plan.Only[GrowClaim](steps))
	o := &s.Object
	earlier, stay := status.Replicas-status.Updated, o.Replicas-max(1, o.Strategy.MaxUnavailable.Of(o.Replicas))
	status.Unhealthy = max(0, o.Replicas-status.Available)
	status.Outdated = max(0, earlier-o.Strategy.Partition.Of(o.Replicas))
	status.Settled = len(steps) == 0 && status.Available == o.Replicas && earlier <= o.Strategy.Partition.Of(o.Replicas)
	status.Enough = status.Available >= stay && (status.Available > 0 || o.Replicas == 0)
	status.Stuck = s.stuck()
	if status.Newest == "" {
		status.Invalid = s.Refused
	}
	return status
}

// spent counts the identities of the object that have ended, and their claims.
func (s *Snapshot) spent() (identities, claims int) {
	ended := map[ID]bool{}
	for _, c := range s.Claims {
		if c.Pool == s.Object.UID && c.Retired {
			ended[c.ID] = true
			claims++
		}
	}
	return len(ended), claims
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
