package pools

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// view is a snapshot, and the decision about the hold, with the conclusions that the rules draw from them by
// docs/guarantees.md. No conclusion comes from the planner.
type view struct {
	*pool.Snapshot
	decision hold.Decision
	counting []plan.Intent // intents of the hold that count
}

func viewOf(s *pool.Snapshot, d hold.Decision) *view {
	v := &view{Snapshot: s, decision: d}
	for _, i := range s.Hold.Intents {
		if v.counts(i) {
			v.counting = append(v.counting, i)
		}
	}
	return v
}

// recorded returns the intents that the hold has recorded when the actions of the plan begin.
func (v *view) recorded() []plan.Intent {
	if v.decision.Need == hold.Write {
		return v.decision.Record.Intents
	}
	return v.Hold.Intents
}

// podNamed returns the pod of that name, of any owner.
func (v *view) podNamed(name string) (pool.Pod, bool) {
	for i := range v.Pods {
		if v.Pods[i].Name == name {
			return v.Pods[i], true
		}
	}
	return pool.Pod{}, false
}

// nameOf returns the name of the pod of an identity.
func (v *view) nameOf(id pool.ID) string { return v.Key.Name + "-" + string(id) }

// hasPod reports whether a pod of an identity is shown, of any owner.
func (v *view) hasPod(id pool.ID) bool {
	return slices.ContainsFunc(v.Pods, func(p pool.Pod) bool { return p.ID == id || p.Name == v.nameOf(id) })
}

// claimsOf returns the claims of an identity of this object.
func (v *view) claimsOf(id pool.ID) []pool.Claim {
	var claims []pool.Claim
	for _, c := range v.Claims {
		if c.ID == id && c.Pool == v.Object.UID {
			claims = append(claims, c)
		}
	}
	return claims
}

// owned reports whether a pod belongs to the object, and is not about to be released.
func (v *view) owned(p *pool.Pod) bool {
	return v.Object.UID != "" && p.Owner == v.Object.UID && !p.Unmatched
}

func terminates(p *pool.Pod) bool { return p.Phase == plan.Terminating }

// isUp reports whether a pod is Ready and not terminating.
func isUp(p *pool.Pod) bool { return p.Phase == plan.Ready }

// isAvailable reports whether a pod has been Ready for minReadySeconds with the containers that it should have.
func (v *view) isAvailable(p *pool.Pod) bool {
	since := v.Object.MinReady <= 0 || v.Now.Sub(p.ReadySince) >= v.Object.MinReady // the clock of the node may be ahead
	return isUp(p) && since && !isBeingUpdated(p)
}

// isBeingUpdated reports whether an update in place has only begun, the kubelet has not seen it, or a container has not
// restarted for it.
func isBeingUpdated(p *pool.Pod) bool {
	if p.Update.Revision == "" || p.Update.Begun {
		return p.Update.Begun
	}
	started := map[string]string{}
	for _, c := range p.Containers {
		if c.Running {
			started[c.Name] = c.ID
		}
	}
	for name, former := range p.Update.Restarts {
		if started[name] == "" && !slices.ContainsFunc(p.Containers, func(c pool.Container) bool { return c.Name == name && c.Running }) || started[name] == former {
			return true
		}
	}
	return p.Observed != 0 && p.Observed < p.Generation
}

// hasBegun reports whether an update of a pod in place has begun and is recorded: the pod counts as unavailable until its end.
func (v *view) hasBegun(p *pool.Pod) bool {
	return p.Update.Begun && slices.ContainsFunc(v.counting, func(i plan.Intent) bool {
		return i.Pod == p.Name && i.UID == p.UID && i.Version == p.Update.At && i.Cause == reason.UpdatedInPlace
	})
}

// unavailableWithout returns how many of the pods that are asked for would be unavailable without pods of these names.
// Pods that an intent names count as unavailable.
func (v *view) unavailableWithout(names ...string) int {
	serving := 0
	for i := range v.Pods {
		p := &v.Pods[i]
		recorded := slices.ContainsFunc(v.counting, func(i plan.Intent) bool { return i.Pod == p.Name })
		if v.owned(p) && v.isAvailable(p) && !recorded && !slices.Contains(names, p.Name) {
			serving++
		}
	}
	return max(0, v.Object.Replicas-serving)
}

// pods returns a share as a number of pods. A percentage is rounded up or down.
func pods(s pool.Share, of int, up bool) int {
	switch {
	case s.Percent == 0:
		return s.Pods
	case up:
		return (of*s.Percent + 99) / 100
	}
	return of * s.Percent / 100
}

// maxUnavailable is how many pods may be unavailable because of updates.
func (v *view) maxUnavailable() int {
	return pods(v.Object.Strategy.MaxUnavailable, v.Object.Replicas, true)
}

// longestEviction is the time after which a granted eviction can no longer be carried out. The API server works on a
// request for at most 34 s, and the clock that measures them may run twice as fast as it should.
const longestEviction = 70 * time.Second

func isGrant(i plan.Intent) bool { return i.Cause == reason.EvictionGranted }

// counts reports whether an intent counts: until the end of its disruption is seen, or until the disruption can no longer
// happen.
func (v *view) counts(i plan.Intent) bool {
	p, exists := v.podNamed(i.Pod)
	switch {
	case i.Unbound && !(v.Live && i.Known >= longestEviction):
		return true
	case !exists:
		return !v.showsEnd(i)
	case p.UID == i.UID:
		return v.mayStillHappen(i, &p)
	case p.Version <= i.Version: // the view is older than the intent
		return true
	}
	isNext := i.Cause == reason.IdentityHandover || p.From == i.UID
	return isNext && v.owned(&p) && !v.isAvailable(&p)
}

// namesPod reports whether the claims of the identity of a pod name a pod with this UID: the identity had that pod later.
func (v *view) namesPod(pod, uid string) bool {
	return slices.ContainsFunc(v.Claims, func(c pool.Claim) bool {
		return c.Pool == v.Object.UID && v.nameOf(c.ID) == pod && c.From == uid
	})
}

// mayStillHappen reports whether the disruption of a pod that still exists may happen, or is underway.
func (v *view) mayStillHappen(i plan.Intent, p *pool.Pod) bool {
	switch {
	case p.Withdrawn >= i.Version && p.Withdrawn != 0 && !isGrant(i) && i.Cause != reason.UpdatedInPlace:
		return false // its request requires a version that the pod has left before it ended
	case terminates(p):
		return true
	case isGrant(i):
		return !v.Live || i.Known < longestEviction
	case p.Version <= i.Version:
		return true
	}
	return i.Cause == reason.UpdatedInPlace && p.Update.At == i.Version && v.owned(p) && !v.isAvailable(p)
}

// showsEnd reports whether a pod that a view as new as its intent does not show has left nothing that waits for it: it
// was only updated, or every claim of its identity says that the identity has ended.
func (v *view) showsEnd(i plan.Intent) bool {
	if v.PodsAt < i.Version {
		return false
	}
	id, ours := strings.CutPrefix(i.Pod, v.Key.Name+"-")
	lives := slices.ContainsFunc(v.claimsOf(pool.ID(id)), func(c pool.Claim) bool { return !c.Retired && !c.Deleting })
	return i.Cause == reason.UpdatedInPlace || ours && v.ClaimsAt >= i.Version && !lives
}

// heldOutside reports whether a holder from outside lockstep has the hold, or whether it cannot be read.
func (v *view) heldOutside() bool {
	h := &v.Hold
	operation, _, _ := strings.Cut(string(h.Holder), "/")
	switch plan.Operation(operation) {
	case "":
		return h.Unreadable != ""
	case plan.StatefulClusterOperation, plan.EvictionOperation, plan.RolloutOperation, plan.DownscaleOperation:
		return h.Unreadable != ""
	}
	expired := !h.Renewed.IsZero() && h.Duration > 0 && v.Now.Sub(h.Renewed) > h.Duration
	newer := operation == "progressive" || operation == "replicated"
	return h.Unreadable != "" || !expired || newer && (len(h.Intents) > 0 || h.Unrenewed < h.Duration)
}
