package plan

import "github.com/lockstep-dev/lockstep/internal/plan/reason"

func (DeletePod) isAction()       {}
func (Withdraw) isAction()        {}
func (AdoptRevision) isAction()   {}
func (NoteDecrease) isAction()    {}
func (VoidDecrease) isAction()    {}
func (PreparePods) isAction()     {}
func (UndoPreparation) isAction() {}
func (EndDecrease) isAction()     {}
func (StampDownscale) isAction()  {}
func (SetReplicas) isAction()     {}
func (ReportReplicas) isAction()  {}
func (TellPods) isAction()        {}
func (NoteAgreed) isAction()      {}
func (EndIntent) isAction()       {}
func (NoteZones) isAction()       {}
func (TakePlace) isAction()       {}
func (Release) isAction()         {}
func (Wait) isAction()            {}

// Reason implements Action.
func (a DeletePod) Reason() reason.Code { return a.Because }

// Reason implements Action.
func (Withdraw) Reason() reason.Code { return reason.DeletionCancelled }

// Reason implements Action.
func (AdoptRevision) Reason() reason.Code { return reason.RevisionComplete }

// Reason implements Action.
func (a NoteDecrease) Reason() reason.Code { return a.Because }

// Reason implements Action.
func (VoidDecrease) Reason() reason.Code { return reason.DownscaleCancelled }

// Reason implements Action.
func (PreparePods) Reason() reason.Code { return reason.DownscaleAdmitted }

// Reason implements Action.
func (UndoPreparation) Reason() reason.Code { return reason.DownscaleCancelled }

// Reason implements Action.
func (a EndDecrease) Reason() reason.Code {
	switch {
	case a.Restored:
		return reason.HoldRestored
	case a.Effective:
		return reason.DownscaleCompleted
	case a.Failed != "":
		return reason.PreparationFailed
	}
	return reason.DownscaleCancelled
}

// Reason implements Action.
func (StampDownscale) Reason() reason.Code { return reason.DownscaleCompleted }

// Reason implements Action.
func (a SetReplicas) Reason() reason.Code { return a.Because }

// Reason implements Action.
func (ReportReplicas) Reason() reason.Code { return reason.ReferenceMirrored }

// Reason implements Action.
func (TellPods) Reason() reason.Code { return reason.DownscaleDelayed }

// Reason implements Action.
func (NoteAgreed) Reason() reason.Code { return reason.DownscaleDelayed }

// Reason implements Action.
func (a EndIntent) Reason() reason.Code { return a.Because }

// Reason implements Action.
func (a NoteZones) Reason() reason.Code {
	if len(a.Joined) > 0 {
		return reason.ZoneJoined
	}
	return reason.HoldReleased
}

// Reason implements Action.
func (TakePlace) Reason() reason.Code { return reason.GroupHeld }

// Reason implements Action.
func (Release) Reason() reason.Code { return reason.HoldReleased }

// Reason implements Action.
func (a Wait) Reason() reason.Code { return a.Because.Code }
