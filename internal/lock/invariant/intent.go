package invariant

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// longestEviction is after how long a granted eviction can no longer be carried out:
// the API server works on a request for 34 s at most, and a clock that counts them may go
// twice as fast as it should.
const longestEviction = 70 * time.Second

// counts reports whether an intent counts: it does until the end of its deed is seen, or
// until the deed can no longer happen. An eviction that nothing binds to its pod may delete
// any pod of that name until the API server has given up on it.
func (v *view) counts(i plan.Intent) bool {
	if i.Unbound && !(v.Live && i.Known >= longestEviction) {
		return true
	}
	if v.isFromAnotherHistory(i) {
		return v.mayStillDelete(i)
	}
	return !v.showsEnd(i) && !v.rulesOut(i)
}

// isFromAnotherHistory reports whether a live view has not reached the version of an intent.
// A live view is at least as new as each note before it, so the Lease, or all of etcd, was
// restored from a backup after the note. A cached view may only be late.
func (v *view) isFromAnotherHistory(i plan.Intent) bool {
	if !v.Live {
		return false
	}
	p, exists := v.noted[i.Pod]
	if !exists {
		return v.PodsAt < i.Version
	}
	return p.Version < i.Version || (p.Version == i.Version && p.UID != i.UID)
}

// mayStillDelete reports whether a request from another history may delete a pod: it
// requires the UID of the noted pod, and the API server gives up on it in time.
func (v *view) mayStillDelete(i plan.Intent) bool {
	p, exists := v.noted[i.Pod]
	return exists && p.UID == i.UID && (terminating(p) || i.Known < longestEviction)
}

// showsEnd reports whether the end of an intent's deed is seen. Either a later pod has the
// name and is available, or the pod is gone and the spec asks for none of that name. A view
// that is older than the note shows neither. Only a live view shows what a spec does not ask
// for: a cached StatefulSet may be older than the pod that is gone.
func (v *view) showsEnd(i plan.Intent) bool {
	z, _ := v.zoneNamed(i.Zone)
	p, exists := v.noted[i.Pod]
	if !exists {
		return v.Live && v.PodsAt >= i.Version && !z.asksForPod(i.Pod) && !v.mayBeMadeAnew(i)
	}
	return succeeds(p, i) && isAvailable(p, z.MinReady, v.Now)
}

// mayBeMadeAnew reports whether a StatefulSet outside of the group asks for a noted pod, or may do
// so when it is back: it was deleted, and other pods that it made live on.
func (v *view) mayBeMadeAnew(i plan.Intent) bool {
	for n := range v.Left {
		left := &v.Left[n]
		if left.Name != i.Zone {
			continue
		}
		z := zone{Zone: left.Zone}
		return left.Exists && z.asksForPod(i.Pod) || !left.Exists && len(left.Pods) > 0
	}
	return false
}

// succeeds reports whether a pod has come in the place of the noted one.
func succeeds(p plan.Pod, i plan.Intent) bool { return p.UID != i.UID && p.Version > i.Version }

// rulesOut reports whether an intent's deed can no longer happen while its pod stays. The
// API server refuses a delete by lockstep once the pod has another version than the noted
// one. A granted eviction requires no version: it can happen until the API server has given
// up on the request, which only a live view can say.
func (v *view) rulesOut(i plan.Intent) bool {
	p, exists := v.noted[i.Pod]
	switch {
	case !exists || p.UID != i.UID || terminating(p):
		return false
	case isGrant(i):
		return v.Live && i.Known >= longestEviction && p.Version >= i.Version
	}
	return p.Version > i.Version
}

// isGrant reports whether an intent notes a granted eviction. Its deed is carried out by
// the API server, all others by lockstep.
func isGrant(i plan.Intent) bool { return i.Cause == reason.EvictionGranted }

// notedBeside returns an intent that counts and is not of the named zone.
func (v *view) notedBeside(name string) (i plan.Intent, found bool) {
	for _, i := range v.counting {
		if i.Zone != name {
			return i, true
		}
	}
	return plan.Intent{}, false
}
