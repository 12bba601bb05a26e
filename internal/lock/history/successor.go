package history

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// observation is what a workload shows of pods that were replaced.
type observation struct {
	seen  plan.Workload
	now   time.Time
	taken map[string]bool // names of pods that are recorded as successors
}

// outcome returns the record of a pod whose intent has left the record: a pod of its name has succeeded it, it was updated in
// place, or it has ended and has no successor of its name. The second result is false if the pod was not replaced.
func (o *observation) outcome(i plan.Intent, began time.Time) (plan.RolledPod, bool) {
	pod, present := o.seen.Pod(i.Pod)
	if present && i.Succeeded(pod.UID, pod.Version) {
		return o.replaced(i, pod, began), true
	}
	done := o.seen.View().Operation == plan.StatefulClusterOperation && o.seen.IntentStatus(i) == plan.Done
	inPlace := i.Cause == reason.UpdatedInPlace
	switch {
	case done && present && inPlace:
		return o.updated(i, pod, began), true
	case done && !present && !inPlace:
		return ended(i, began), true
	}
	return plan.RolledPod{}, false
}

// replaced returns the record of a pod that was replaced in a zone that began at a time. API objects have
// times in whole seconds; a more precise observation of this process is preferred. Because clocks differ,
// replaced puts the times in their causal order: deleted, created again, Ready, now.
func (o *observation) replaced(i plan.Intent, successor plan.Pod, began time.Time) plan.RolledPod {
	p := plan.RolledPod{Name: i.Pod, UID: i.UID, Cause: i.Cause, Deleted: later(began, i.Since)}
	p.Recreated = later(p.Deleted, o.happened(successor.Created.Time(), successor.Seen.Created))
	if successor.Up() {
		p.Ready = later(p.Recreated, o.happened(successor.ReadySince, successor.Seen.Ready))
		p.Seen = successor.Seen.Ready != 0
	}
	return p
}

// happened returns the time of an event that an API object dates to a second, more precisely if this process
// observed it. The result is not before that second and not after now.
func (o *observation) happened(second time.Time, seen plan.Sighting) time.Time {
	if at := seen.Time(second); at.Before(o.now) {
		return at
	}
	return o.now
}

// updated returns the record of a pod that was updated in place in a zone that began at a time. It is the same pod, which
// need not have become Ready again.
func (o *observation) updated(i plan.Intent, pod plan.Pod, began time.Time) plan.RolledPod {
	p := plan.RolledPod{Name: i.Pod, UID: i.UID, Cause: i.Cause, Deleted: later(began, i.Since), Ready: o.now}
	p.Recreated = p.Deleted
	if again := !pod.ReadySince.Before(p.Deleted.Truncate(time.Second)); pod.Up() && again { // its condition has whole seconds
		p.Ready, p.Seen = o.happened(pod.ReadySince, pod.Seen.Ready), pod.Seen.Ready != 0
	}
	p.Ready = later(p.Deleted, p.Ready)
	return p
}

// ended returns the record of a pod whose identity has ended. A pod of another name takes its place.
func ended(i plan.Intent, began time.Time) plan.RolledPod {
	deleted := later(began, i.Since)
	return plan.RolledPod{Name: i.Pod, UID: i.UID, Cause: i.Cause, Deleted: deleted, Recreated: deleted, Open: true}
}

// follow records the successors of pods whose identities have ended, and when these became Ready.
func (r *rollout) follow() {
	for n := range r.Zones {
		z := &r.Zones[n]
		if !slices.ContainsFunc(z.Pods, func(p plan.RolledPod) bool { return p.Open }) {
			continue
		}
		z.Pods = slices.Clone(z.Pods)
		for i := range z.Pods {
			r.followPod(z.Name, &z.Pods[i])
		}
	}
}

// followPod records what is known of the successor of a pod. The entry of a pod is open until its successor is Ready, or has
// ended or been released before.
func (o *observation) followPod(unit string, p *plan.RolledPod) {
	if p.Open && p.Successor == "" {
		next, exists := o.successor(unit, *p)
		if !exists {
			return
		}
		p.Successor, p.Recreated = next.Name, later(p.Deleted, o.happened(next.Created.Time(), next.Seen.Created))
		o.taken[next.Name] = true
	}
	next, exists := o.seen.Pod(p.Successor)
	switch {
	case !p.Open:
	case exists && next.Up():
		p.Ready = later(p.Recreated, o.happened(next.ReadySince, next.Seen.Ready))
		p.Seen, p.Open = next.Seen.Ready != 0, false
	case !exists || next.Phase == plan.Terminating || !o.belongs(unit, p.Successor):
		p.Open = false
	}
}

// belongs reports whether a pod is one of the object.
func (o *observation) belongs(unit, pod string) bool {
	shown := o.seen.Shown()
	object, _ := shown.Object(unit)
	return slices.ContainsFunc(object.Pods, func(p plan.Pod) bool { return p.Name == pod })
}

// successor returns the pod that took the place of another one: the youngest pod that was created after the deletion and
// that is not the successor of another one. No object says which place a pod takes, so of pods that were replaced at the
// same time, each has one of their successors.
func (o *observation) successor(unit string, p plan.RolledPod) (plan.Pod, bool) {
	shown := o.seen.Shown()
	object, _ := shown.Object(unit)
	var found plan.Pod
	for _, pod := range object.Pods {
		created := pod.Seen.Created.Time(pod.Created.Time()) // in whole seconds if it was not observed
		early := created.Before(p.Deleted.Truncate(time.Second)) || pod.Seen.Created != 0 && created.Before(p.Deleted)
		serves := pod.Phase != plan.Terminating && pod.Name != p.Name && !o.taken[pod.Name]
		if !early && serves && (found.Name == "" || pod.Created > found.Created) {
			found = pod
		}
	}
	return found, found.Name != ""
}

// successors returns the names of the pods that are recorded as successors.
func successors(r plan.Rollouts) map[string]bool {
	names := map[string]bool{}
	for _, group := range append([]plan.RolledGroup{r.Current}, r.Finished...) {
		for _, z := range group.Zones {
			for _, p := range z.Pods {
				names[p.Successor] = true
			}
		}
	}
	for i := range r.Replacements {
		names[r.Replacements[i].Successor] = true
	}
	return names
}

// closed returns the pods of a rollout that ends, none of which is open.
func closed(pods []plan.RolledPod) []plan.RolledPod {
	pods = slices.Clone(pods)
	for i := range pods {
		pods[i].Open = false
	}
	return pods
}
