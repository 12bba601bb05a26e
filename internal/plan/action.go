package plan

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/reason"
)

// Action is one thing to do, or to wait for. The set of actions is closed:
// whoever handles them handles all of the types in this file.
//
//sumtype:decl
type Action interface {
	isAction()
	// Reason says why.
	Reason() reason.Code
	// String returns the notation used in logs, traces and golden files.
	String() string
}

// DeletePod takes down exactly the pod that was judged: the delete requires
// this UID and this resourceVersion.
type DeletePod struct {
	Zone    string
	Pod     string
	UID     string
	Version Version
	Up      bool // the pod serves, so the hold must cover the deed
	Noted   bool // an intent for exactly this deed is in the hold already
	Odd     bool // its revision is none that the zone's status names: the view may be behind
	Because reason.Code
}

// Withdraw touches a pod that was noted to be taken down, so that a delete in
// flight cannot succeed. It requires the noted UID and resourceVersion; the
// intent is void once the pod's new version is seen.
type Withdraw struct {
	Intent Intent
	Since  Refusal // what speaks against the deed now
}

// AdoptRevision writes status.currentRevision at the end of a zone's rollout.
// Kubernetes does that only for RollingUpdate.
type AdoptRevision struct {
	Zone     string
	UID      string
	Version  Version
	Revision string
}

// Release gives the group's hold back.
type Release struct {
	Holder Holder
}

// Wait says what a zone waits for. An empty plan means the goal is reached.
type Wait struct {
	Zone    string
	Because Refusal
}

// Refusal is an objection of a guard. The zero Refusal is none.
type Refusal struct {
	Code   reason.Code
	Zone   string    // the zone that stands in the way, if it is another one
	Pod    string    // the pod that stands in the way
	Detail string    // bounded text of ours, or a container's waiting reason
	Until  time.Time // when it ends by time alone; zero: an event will tell
}

// None tells whether there is no objection.
func (r Refusal) None() bool { return r.Code == "" }

func (DeletePod) isAction()     {}
func (Withdraw) isAction()      {}
func (AdoptRevision) isAction() {}
func (Release) isAction()       {}
func (Wait) isAction()          {}

// Reason implements Action.
func (a DeletePod) Reason() reason.Code { return a.Because }

// Reason implements Action.
func (Withdraw) Reason() reason.Code { return reason.NoLongerWanted }

// Reason implements Action.
func (AdoptRevision) Reason() reason.Code { return reason.RevisionComplete }

// Reason implements Action.
func (Release) Reason() reason.Code { return reason.ZoneSettled }

// Reason implements Action.
func (a Wait) Reason() reason.Code { return a.Because.Code }

// Wake returns the earliest time at which one of the waits ends by time alone,
// or the zero time when all of them end with an event.
func Wake(steps []Action) time.Time {
	var wake time.Time
	for _, step := range steps {
		if wait, ok := step.(Wait); ok {
			wake = earlier(wake, wait.Because.Until)
		}
	}
	return wake
}

// Disrupts tells whether the plan takes any pod down.
func Disrupts(steps []Action) bool {
	for _, step := range steps {
		if _, ok := step.(DeletePod); ok {
			return true
		}
	}
	return false
}
