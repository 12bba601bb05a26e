package history

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// updated returns the record of a pod that was updated in place in a zone that began at a time. It is the same pod, which
// need not have become Ready again.
func (r *rollout) updated(i plan.Intent, pod plan.Pod, began time.Time) plan.RolledPod {
	p := plan.RolledPod{Name: i.Pod, UID: i.UID, Cause: i.Cause, Deleted: later(began, i.Since), Ready: r.now}
	p.Recreated = p.Deleted
	if ready := r.happened(pod.ReadySince, pod.Seen.Ready); pod.Up() && ready.After(p.Deleted) {
		p.Ready, p.Seen = ready, pod.Seen.Ready != 0
	}
	p.Ready = later(p.Deleted, p.Ready)
	return p
}

// ended returns the record of a pod whose identity has ended. A pod of another name takes its place.
func ended(i plan.Intent, began time.Time) plan.RolledPod {
	deleted := later(began, i.Since)
	return plan.RolledPod{Name: i.Pod, UID: i.UID, Cause: i.Cause, Deleted: deleted, Recreated: deleted, Open: true}
}

// follow records the successors of pods whose identities have ended, and when these became Ready. The entry of a pod is
// open until its successor is Ready, or has ended before.
func (r *rollout) follow() {
	for n := range r.Zones {
		z := &r.Zones[n]
		if !slices.ContainsFunc(z.Pods, func(p plan.RolledPod) bool { return p.Open }) {
			continue
		}
		z.Pods = slices.Clone(z.Pods)
		for i := range z.Pods {
			if z.Pods[i].Open {
				r.followPod(z.Name, &z.Pods[i])
			}
		}
	}
}

// followPod records what is known of the successor of a pod.
func (r *rollout) followPod(unit string, p *plan.RolledPod) {
	if p.Successor == "" {
		next, exists := r.successor(unit, *p)
		if !exists {
			return
		}
		p.Successor, p.Recreated = next.Name, later(p.Deleted, r.happened(next.Created.Time(), next.Seen.Created))
	}
	next, exists := r.seen.Pod(p.Successor)
	switch {
	case exists && next.Up():
		p.Ready = later(p.Recreated, r.happened(next.ReadySince, next.Seen.Ready))
		p.Seen, p.Open = next.Seen.Ready != 0, false
	case !exists || next.Phase == plan.Terminating:
		p.Open = false
	}
}

// successor returns the pod that took the place of another one: the youngest pod that was created after the deletion and
// that is not the successor of another one. No object says which place a pod takes, so of pods that were replaced at the
// same time, each has one of their successors.
func (r *rollout) successor(unit string, p plan.RolledPod) (plan.Pod, bool) {
	shown := r.seen.Shown()
	object, _ := shown.Object(unit)
	var found plan.Pod
	for _, pod := range object.Pods {
		created := pod.Seen.Created.Time(pod.Created.Time()) // in whole seconds if it was not observed
		early := created.Before(p.Deleted.Truncate(time.Second)) || pod.Seen.Created != 0 && created.Before(p.Deleted)
		serves := pod.Phase != plan.Terminating && pod.Name != p.Name && !r.succeeds(pod.Name)
		if !early && serves && (found.Name == "" || pod.Created > found.Created) {
			found = pod
		}
	}
	return found, found.Name != ""
}

// succeeds reports whether a pod is recorded as the successor of another one.
func (r *rollout) succeeds(pod string) bool {
	return slices.ContainsFunc(r.Zones, func(z plan.RolledZone) bool {
		return slices.ContainsFunc(z.Pods, func(p plan.RolledPod) bool { return p.Successor == pod })
	})
}

// closed returns the pods of a rollout that ends, none of which is open.
func closed(pods []plan.RolledPod) []plan.RolledPod {
	pods = slices.Clone(pods)
	for i := range pods {
		pods[i].Open = false
	}
	return pods
}
