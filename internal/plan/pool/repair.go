package pool

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Liveness says when a pod is replaced by a new identity although no client asks for it. A time of 0 means never.
type Liveness struct {
	NodeLost     time.Duration // how long its node does not report
	Startup      time.Duration // how long a pod may take to become Ready
	CrashLoop    time.Duration // how long it is not Ready while a container is in a crash loop
	NotReady     time.Duration // how long it is not Ready after Startup
	MaxUnhealthy Share         // of the pods may be unavailable, for an identity to be given up in doubt
}

// Node is the node of a pod.
type Node struct {
	Name   string
	Gone   bool      // it does not exist, or a person has declared it out of service
	Silent time.Time // since when it does not report; zero: it does, or nothing is known
}

// certainty says what a repair depends on beside its pod. If it is 0, the copy of the data is lost.
type certainty int

const (
	// damaged: the copy has lost a part. The pod may serve.
	damaged certainty = iota + 1
	// doubtful: the pod may come back with its data.
	doubtful
)

// ailment is why a pod is to be replaced by a new identity.
type ailment struct {
	cause reason.Code
	certainty
	at time.Time // from when it counts; zero: at once
}

// ailmentOf returns why a pod is to be replaced, now or at a later time. The zero ailment is none. What an update of the
// pod may bring about does not count while the update is recorded.
func (p *poolState) ailmentOf(pod *Pod) ailment {
	l := &p.Object.Liveness
	updating := p.openOf[pod.Name] && p.pendingOf[pod.Name].Cause == "" || p.pending(pod)
	switch {
	case pod.Node.Gone && (p.isRetained(pod) || p.Object.Keep.OnEviction) && p.whole(pod):
		return ailment{cause: reason.IdentityHandover}
	case pod.Node.Gone:
		return ailment{cause: reason.NodeGone}
	case l.NodeLost > 0 && !pod.Node.Silent.IsZero():
		return ailment{reason.NodeLost, doubtful, pod.Node.Silent.Add(l.NodeLost)}
	case p.lacksClaim(pod):
		return ailment{cause: reason.ClaimLost, certainty: damaged}
	case pod.From == "" && pod.Gated && (p.lacksTemplate(pod) || p.Taken[pod.ID]):
		return ailment{cause: reason.ClaimLost} // a claim that it needs cannot be created
	case pod.From != "" && pod.Gated && !p.complete(pod.ID, pod.From) && p.lateMark(pod) == "" && len(p.formerClaims(pod)) == 0 && len(p.retired(pod.ID)) == 0:
		return ailment{cause: reason.HandoverFailed} // it lacks a claim that its identity had
	case p.isUnreachable(pod) && (pod.From == "" || p.Object.HandoverTimeout > 0):
		return ailment{reason.VolumeUnreachable, doubtful, p.Volumes[pod.UID].Since.Add(lookAtVolumesAgain)}
	case pod.From != "" && !pod.Scheduled && !pod.Gated && p.Object.HandoverTimeout > 0:
		return ailment{reason.HandoverFailed, doubtful, pod.Created.Time().Add(p.Object.HandoverTimeout)}
	case pod.Up() || pod.NotReady.IsZero() || updating:
	case l.CrashLoop > 0 && pod.Why == crashLoop:
		return ailment{reason.CrashLooping, doubtful, latest(pod.NotReady.Add(l.CrashLoop), p.nextAttempt())}
	case l.NotReady > 0 && pod.Scheduled:
		return ailment{reason.NeverReady, doubtful, latest(pod.NotReady.Add(l.NotReady), pod.Created.Time().Add(l.Startup), p.nextAttempt())}
	}
	return ailment{}
}

// ails reports whether a pod is to be replaced by a new identity.
func (p *poolState) ails(pod *Pod) bool { return p.ailing[pod.Name].cause != "" }

// crashLoop is the waiting reason of a container that has ended several times.
const crashLoop = "CrashLoopBackOff"

// lacksClaim reports whether a claim of a pod does not exist any more, or is being deleted. An older view of claims may
// lack one that exists.
func (p *poolState) lacksClaim(pod *Pod) bool {
	if pod.Gated || p.ClaimsAt < pod.Version {
		return false
	}
	claims := p.claimsOf(pod.ID)
	return slices.ContainsFunc(pod.Mounts, func(m Mount) bool {
		i := slices.IndexFunc(claims, func(c Claim) bool { return c.Name == m.Claim })
		if i < 0 {
			return !slices.ContainsFunc(p.Unlabelled, func(c UnlabelledClaim) bool { return c.Name == m.Claim })
		}
		return claims[i].Deleting
	})
}

// LostClaims counts the actions that replace pods because they have lost a claim. Pods that wait for their claims are replaced for
// the same reason, and have lost none.
func LostClaims(s *Snapshot, done []plan.Receipt) int {
	n := 0
	for _, r := range done {
		deletion, deletes := r.Step.(plan.DeletePod)
		if !deletes || r.Err != nil || deletion.Because != reason.ClaimLost {
			continue
		}
		pod, exists := s.podNamed(deletion.Pod)
		n += one(exists && !pod.Gated)
	}
	return n
}

// CrashLoopEnds returns when lockstep gives up the first identity whose pod is in a crash loop, unless the pod becomes Ready
// before; the zero time: it gives up none for that.
func (s *Snapshot) CrashLoopEnds() time.Time {
	var first time.Time
	crashes := false
	for i := range s.Pods {
		crashes = crashes || s.Pods[i].Why == crashLoop
	}
	if !crashes {
		return first // without the cost of a pool state
	}
	p := newPoolState(s)
	for i := range p.staying {
		if a := p.ailmentOf(&p.staying[i]); a.cause == reason.CrashLooping && (first.IsZero() || a.at.Before(first)) {
			first = a.at
		}
	}
	return first
}

// lacksTemplate reports whether a pod that waits for its claims needs one of which its revision has no template: the revision
// does not exist any more.
func (p *poolState) lacksTemplate(pod *Pod) bool {
	templates, claims := p.templatesOf(pod.Revision).Claims, p.claimsOf(pod.ID)
	return slices.ContainsFunc(pod.Mounts, func(m Mount) bool {
		known := slices.ContainsFunc(templates, func(t ClaimTemplate) bool { return t.Name == m.Template })
		return !known && !slices.ContainsFunc(claims, func(c Claim) bool { return c.Name == m.Claim })
	})
}

// The growing pauses between identities that are given up because of their health.
const (
	attemptsCountFor = 24 * time.Hour
	mostDoublings    = 6
)

// nextAttempt returns when the next identity may be given up because of its health: the pauses double with each one of
// the last day. Spent claims say when that was. The zero time is at once.
func (p *poolState) nextAttempt() time.Time {
	given := map[ID]bool{}
	var last time.Time
	for _, c := range p.Claims {
		if c.Pool == p.Object.UID && c.Retired && isHealth(c.Because) && p.Now.Sub(c.Ended) < attemptsCountFor {
			given[c.ID], last = true, latest(last, c.Ended)
		}
	}
	if len(given) == 0 {
		return time.Time{}
	}
	return last.Add(p.Object.Liveness.Startup << min(len(given), mostDoublings))
}

// isHealth reports whether an identity was given up because of its health.
func isHealth(cause reason.Code) bool {
	return cause == reason.CrashLooping || cause == reason.NeverReady
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}

// repairs deletes the pods that are to be replaced by new identities, and returns why it leaves others. In doubt no
// identity is given up while more pods are unavailable than MaxUnhealthy, or while no other pod is available: a diagnosis
// that is wrong must not take one copy of the data after the other.
func (p *poolState) repairs() (steps, waits []plan.Action) {
	needed := p.needed()
	for i := range needed {
		pod := &needed[i]
		a := p.ailmentOf(pod)
		if a.cause == reason.NodeLost && !p.ails(pod) {
			waits = append(waits, p.waits(plan.Refusal{Code: reason.NodeSilent, Pod: pod.Name, Until: a.at})...)
		}
		switch {
		case !p.ails(pod):
			steps = append(steps, p.withdrawnRepair(pod)...)
		case a.certainty == doubtful && !p.mayGiveUpInDoubt(pod):
			steps = append(steps, p.withdrawnRepair(pod)...)
			waits = append(waits, p.waits(plan.Refusal{Code: reason.TooManyUnhealthy, Pod: pod.Name})...)
		case a.certainty != doubtful && p.pauses(pod):
			waits = append(waits, p.pausedReplacement(pod)...)
		case a.certainty == damaged && !p.recorded(pod, a.cause) && !p.down(pod) && p.unavailable() >= p.mostUnavailable(a.cause):
		case p.recorded(pod, a.cause), p.hasRoom(pod):
			steps = append(steps, p.repair(pod, a.cause))
		}
	}
	return steps, waits
}

// repair deletes a pod whose state depends on other objects, or hands its identity over.
func (p *poolState) repair(pod *Pod, because reason.Code) plan.Action {
	if prepare, marked := p.prepare(pod); because == reason.IdentityHandover && !marked {
		return prepare
	}
	d := p.disruption(pod, because)
	d.NeedsLiveRead = true
	return plan.DeletePod(d)
}

// withdrawnRepair cancels a recorded repair that is no longer due.
func (p *poolState) withdrawnRepair(pod *Pod) []plan.Action {
	if slices.Contains(repairCauses, p.pendingOf[pod.Name].Cause) {
		return []plan.Action{p.cancellation(pod)}
	}
	return nil
}

// repairCauses are why pods are replaced by new identities.
var repairCauses = []reason.Code{reason.NodeGone, reason.VolumeUnreachable, reason.NodeLost, reason.ClaimLost, reason.HandoverFailed, reason.CrashLooping, reason.NeverReady}

// mayGiveUpInDoubt reports whether the identity of a pod may be given up although it may come back. Without a pod it is that
// of one that terminates. Another copy counts only if it is not about to end as well.
func (p *poolState) mayGiveUpInDoubt(pod *Pod) bool {
	another := slices.ContainsFunc(p.needed(), func(other Pod) bool {
		return (pod == nil || other.Name != pod.Name) && !p.down(&other) && !p.ails(&other)
	})
	return another && p.fewAreUnavailable()
}

// fewAreUnavailable reports whether not more pods are unavailable than identities may be given up in doubt.
func (p *poolState) fewAreUnavailable() bool {
	return p.unavailable() <= p.Object.Liveness.MaxUnhealthy.AtMost(p.Object.Replicas)
}
