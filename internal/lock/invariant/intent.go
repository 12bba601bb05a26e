package invariant

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// longestEviction is the time after which a granted eviction can no longer be carried out. The API server
// works on a request for at most 34 s, and the clock that measures them may run twice as fast as it should.
const longestEviction = 70 * time.Second

// counts reports whether an intent counts. It counts until the end of its disruption is observed, or until
// the disruption can no longer happen. An unbound eviction has no precondition that ties it to one pod. It
// may delete any pod of that name until the API server has given up on it.
func (v *view) counts(i plan.Intent) bool {
	if i.Unbound && !(v.Live && i.Known >= longestEviction) {
		return true
	}
	if v.isFromAnotherHistory(i) {
		return v.mayStillDelete(i)
	}
	return !v.showsEnd(i) && !v.rulesOut(i)
}

// isFromAnotherHistory reports whether a live view has not reached the version of an intent. A live view is
// at least as new as every earlier intent, so the Lease, or all of etcd, was restored from a backup after the
// intent was written. A cached view may just be behind.
func (v *view) isFromAnotherHistory(i plan.Intent) bool {
	if !v.Live {
		return false
	}
	p, exists := v.recorded[i.Pod]
	if !exists {
		return v.PodsAt < i.Version
	}
	return p.Version < i.Version || (p.Version == i.Version && p.UID != i.UID)
}

// mayStillDelete reports whether a request from another history may still delete a pod. The request requires
// the UID of the recorded pod, and the API server gives up on it after a time.
func (v *view) mayStillDelete(i plan.Intent) bool {
	p, exists := v.recorded[i.Pod]
	return exists && p.UID == i.UID && (terminating(p) || i.Known < longestEviction)
}

// showsEnd reports whether the end of an intent's disruption is observed: a later pod with the name is
// available, or the pod was deleted and the spec has none of that name. A view that is older than the intent
// shows neither. The second case requires a live view, because a cached StatefulSet may be older than the
// deleted pod.
func (v *view) showsEnd(i plan.Intent) bool {
	z, _ := v.zoneNamed(i.Zone)
	p, exists := v.recorded[i.Pod]
	if !exists {
		return v.Live && v.PodsAt >= i.Version && !z.asksForPod(i.Pod) && !v.mayBeMadeAnew(i)
	}
	return succeeds(p, i) && isAvailable(p, z.MinReady, v.Now)
}

// mayBeMadeAnew reports whether the pod of an intent may be created again by a StatefulSet that left the
// group: the StatefulSet exists and its spec has the pod, or it was deleted while some of its pods still
// exist, and may return.
func (v *view) mayBeMadeAnew(i plan.Intent) bool {
	for n := range v.FormerZones {
		left := &v.FormerZones[n]
		if left.Name != i.Zone {
			continue
		}
		z := zone{Zone: left.Zone}
		return left.Exists && z.asksForPod(i.Pod) || !left.Exists && len(left.Pods) > 0
	}
	return false
}

// succeeds reports whether a pod is the successor of the recorded one.
func succeeds(p plan.Pod, i plan.Intent) bool { return p.UID != i.UID && p.Version > i.Version }

// rulesOut reports whether an intent's disruption can no longer happen while its pod exists. The API server
// rejects a delete by lockstep once the pod has a later version than the recorded one. A granted eviction
// requires no version. It can happen until the API server has given up on the request, which only a live view
// shows.
func (v *view) rulesOut(i plan.Intent) bool {
	p, exists := v.recorded[i.Pod]
	switch {
	case !exists || p.UID != i.UID || terminating(p):
		return false
	case isGrant(i):
		return v.Live && i.Known >= longestEviction && p.Version >= i.Version
	}
	return p.Version > i.Version
}

// isGrant reports whether an intent records a granted eviction. The API server carries out evictions;
// lockstep carries out all other disruptions.
func isGrant(i plan.Intent) bool { return i.Cause == reason.EvictionGranted }

// recordedElsewhere returns an intent that counts and belongs to another zone than the named one.
func (v *view) recordedElsewhere(name string) (i plan.Intent, found bool) {
	for _, i := range v.counting {
		if i.Zone != name {
			return i, true
		}
	}
	return plan.Intent{}, false
}
