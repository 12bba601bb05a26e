package history

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// replacements returns the pods of a StatefulCluster that were replaced for other causes than an update. next is what the
// write records of updates.
func replacements(w plan.Workload, record plan.Record, next plan.Rollouts) []plan.Replacement {
	held := w.Record().Hold
	updating := held.Rollouts.Current.Begun() || next.Current.Begun()
	all, name := slices.Clone(held.Rollouts.Replacements), w.View().Key.Name
	o := observation{seen: w, now: w.View().Now}
	for _, i := range held.Intents {
		if !replaces(i, updating) || stands(record, i) {
			continue
		}
		if pod, happened := o.outcome(i, i.Since); happened {
			all = append(all, plan.Replacement{RolledPod: pod})
		}
	}
	if len(all) == 0 {
		return nil
	}
	o.taken = successors(next)
	for i := range all {
		o.taken[all[i].Successor] = true
	}
	for i := range all {
		o.followPod(name, &all[i].RolledPod)
	}
	return slices.DeleteFunc(all, func(r plan.Replacement) bool { return r.Open && r.Successor == "" && o.needsNone(name) })
}

// replaces reports whether the pod of an intent is replaced, and not by an update. While a StatefulCluster is updated, the
// hand-over of an identity counts as part of the update.
func replaces(i plan.Intent, updating bool) bool {
	if i.Cause == reason.IdentityHandover {
		return !updating
	}
	return i.Cause != reason.ScaledDown && i.Cause != reason.ReplicasExceeded && !takenDown(i)
}

// needsNone reports whether no pod is missing, so that a pod that has no successor gets none: fewer pods are asked for
// meanwhile, or the StatefulCluster was deleted.
func (o *observation) needsNone(unit string) bool {
	_, exists := plan.UnitOf(o.seen, unit)
	return !exists || o.seen.Rollout(unit).Available
}
