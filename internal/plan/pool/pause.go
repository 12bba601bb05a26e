package pool

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// The growing pauses between identities whose pods are lost soon after their creation, for example because a node rejects
// each of them. The first one of them is replaced at once (ADR 42).
const (
	firstPause   = 5 * time.Second
	longestPause = firstPause << mostDoublings
)

// LossesCountFor is how long a lost identity makes the pause before the next one longer.
const LossesCountFor = time.Hour

// Losses counts the actions that replace lost identities, and those that hand over identities whose pods have ended.
func Losses(s *Snapshot, done []plan.Receipt) int {
	n := 0
	for _, r := range done {
		deletion, deletes := r.Step.(plan.DeletePod)
		if !deletes || r.Err != nil {
			continue
		}
		pod, _ := s.podNamed(deletion.Pod)
		n += one(slices.Contains(lossCauses, deletion.Because) || deletion.Because == reason.IdentityHandover && pod.Finished)
	}
	return n
}

// lossCauses are why an identity is given up although there is no doubt about its pod and no client asked for it.
var lossCauses = []reason.Code{reason.PodFinished, reason.NodeGone, reason.ClaimLost}

// replacedFrom returns from when the identity of a lost pod may be replaced: once the pod is as old as the pause. A pod that
// has existed for longer than the longest one never waits, nor does one while no other identity was lost.
func (p *poolState) replacedFrom(pod *Pod) time.Time {
	created, earlier := pod.Created.Time(), p.recentLosses()+p.endedBefore(pod)
	if earlier == 0 || !p.Now.Before(created.Add(longestPause)) {
		return time.Time{}
	}
	return created.Add(firstPause << min(earlier-1, mostDoublings))
}

// recentLosses is how many identities were lost within the last hour. Spent claims say that, and this process knows of those
// that have left none, or that were kept although their pods have ended.
func (p *poolState) recentLosses() int {
	lost := map[ID]bool{}
	for _, c := range p.Claims {
		if c.Pool == p.Object.UID && c.Retired && slices.Contains(lossCauses, c.Because) && p.Now.Sub(c.Ended) < LossesCountFor {
			lost[c.ID] = true
		}
	}
	return max(len(lost), p.Lost)
}

// endedBefore is how many pods that were created before a pod have ended as well and are still there, because their ends cannot be
// recorded: while a person has the hold, there would be more of them all the time.
func (p *poolState) endedBefore(pod *Pod) int {
	n := 0
	for i := range p.Pods {
		other := &p.Pods[i]
		before := other.Created < pod.Created || other.Created == pod.Created && other.Name < pod.Name
		n += one(before && other.Finished && p.owns(other) && other.Phase != plan.Terminating)
	}
	return n
}

// pauses reports whether a lost pod is not replaced yet.
func (p *poolState) pauses(pod *Pod) bool {
	return p.pendingOf[pod.Name].Cause == "" && p.replacedFrom(pod).After(p.Now)
}

// pausedReplacements returns the waits of the pods that have ended and are not replaced yet.
func (p *poolState) pausedReplacements() []plan.Action {
	var waits []plan.Action
	for i := range p.ended {
		if pod := &p.ended[i]; pod.pauses {
			waits = append(waits, p.pausedReplacement(&pod.Pod)...)
		}
	}
	return waits
}

func (p *poolState) pausedReplacement(pod *Pod) []plan.Action {
	return p.waits(plan.Refusal{Code: reason.ReplacementPaused, Pod: pod.Name, Until: p.replacedFrom(pod)})
}
