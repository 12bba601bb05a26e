package pool

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// FollowedUpdate is an update of a pod in place that is followed until its end. It is for metrics; no rule reads it.
type FollowedUpdate struct {
	Recorded plan.Intent // the last one: an update that begins before it is made has two
	Since    time.Time   // when the first one was recorded
	stage    updateStage
	ended    bool // its end was returned, and the hold still has the record
}

// updateStage is the last stage of an update in place that a pod has shown.
type updateStage int

const (
	// updateUnseen: the pod has not shown the update, which may never begin.
	updateUnseen updateStage = iota
	// updateBegun: the pod has its former revision.
	updateBegun
	// updateMade: the pod has the new revision.
	updateMade
)

// UpdateOutcome is how an update of a pod in place has ended.
type UpdateOutcome string

// The outcomes. An update that never began has none.
const (
	// UpdateCompleted: the pod is available.
	UpdateCompleted UpdateOutcome = "completed"
	// UpdateCorrected: the pod was to get a newer template before it was available.
	UpdateCorrected UpdateOutcome = "corrected"
	// UpdateHandedOver: the identity of the pod was to be handed over before that.
	UpdateHandedOver UpdateOutcome = "handover"
	// UpdateReplaced: lockstep was to end the identity of the pod before that.
	UpdateReplaced UpdateOutcome = "replaced"
	// UpdateLost: the pod has ended without lockstep, or has left the StatefulCluster.
	UpdateLost UpdateOutcome = "lost"
	// UpdateWithdrawn: the update had begun and became impossible, so the pod runs as before.
	UpdateWithdrawn UpdateOutcome = "withdrawn"
)

// EndedUpdate is an update of a pod in place that has ended.
type EndedUpdate struct {
	Outcome UpdateOutcome
	Since   time.Time
	Pod     plan.Pod // as it is now; the zero Pod: it does not exist
}

// FollowUpdates returns the updates in place to follow from now on, and those that have ended since the snapshot for which it
// returned followed.
func FollowUpdates(s *Snapshot, followed []FollowedUpdate) (next []FollowedUpdate, ended []EndedUpdate) {
	held := map[string]plan.Version{} // by UID of the pod
	all := slices.Clone(followed)
	for _, i := range s.Hold.Intents {
		if i.Cause != reason.UpdatedInPlace {
			continue
		}
		held[i.UID] = i.Version
		isOf := func(u FollowedUpdate) bool {
			goesOn := u.stage == updateBegun && !u.ended
			return u.Recorded.UID == i.UID && (u.Recorded.Version == i.Version || goesOn)
		}
		if n := slices.IndexFunc(all, isOf); n >= 0 {
			all[n].Recorded = i
		} else {
			all = append(all, FollowedUpdate{Recorded: i, Since: i.Since})
		}
	}
	for _, u := range all {
		u.stage = max(u.stage, s.stageOf(u.Recorded))
		if outcome := s.outcomeOf(&u); outcome != "" && !u.ended {
			pod, _ := s.Pod(u.Recorded.Pod)
			ended, u.ended = append(ended, EndedUpdate{outcome, u.Since, pod}), true
		}
		isHeld := held[u.Recorded.UID] == u.Recorded.Version
		if goesOn := u.stage != updateUnseen && !u.ended; isHeld || goesOn { // a lost record does not end an update
			next = append(next, u)
		}
	}
	return next, ended
}

// stageOf returns the stage of a recorded update that its pod shows.
func (s *Snapshot) stageOf(i plan.Intent) updateStage {
	pod, present := s.podNamed(i.Pod)
	switch {
	case !present || pod.UID != i.UID || pod.Update.Revision == "" || pod.Update.At != i.Version:
		return updateUnseen
	case pod.Update.Begun:
		return updateBegun
	}
	return updateMade
}

// outcomeOf returns how an update has ended; empty: it has not, or it never began. What is recorded of the pod after it says why
// lockstep has not waited for it.
func (s *Snapshot) outcomeOf(u *FollowedUpdate) UpdateOutcome {
	i := u.Recorded
	pod, present := s.podNamed(i.Pod)
	status, same := s.IntentStatus(i), present && pod.UID == i.UID
	after := slices.IndexFunc(s.Hold.Intents, func(next plan.Intent) bool {
		return next.UID == i.UID && !next.Granted() && (next.Cause != i.Cause || next.Version != i.Version)
	})
	switch {
	case status == plan.Done && same:
		return UpdateCompleted
	case u.stage == updateUnseen:
	case after >= 0:
		return outcomeBefore(s.Hold.Intents[after].Cause)
	case status == plan.Done, status == plan.Obsolete && !s.owns(&pod):
		return UpdateLost
	case status == plan.Obsolete && pod.Update.Revision == "":
		return UpdateWithdrawn
	}
	return ""
}

// outcomeBefore returns how an update has ended if a disruption of the pod for that cause was recorded before it was complete.
func outcomeBefore(cause reason.Code) UpdateOutcome {
	switch cause {
	case reason.UpdatedInPlace:
		return UpdateCorrected
	case reason.IdentityHandover:
		return UpdateHandedOver
	default: // the identity ends
		return UpdateReplaced
	}
}
