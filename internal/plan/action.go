package plan

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
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
	Zone            string
	Pod             string
	UID             string
	Version         Version
	Up              bool // the pod serves, so the hold must note the deed
	AlreadyNoted    bool // an intent for exactly this deed is in the hold already
	UnknownRevision bool // its revision is none that the zone's status names: the view may be behind
	Overtakes       bool // an operation of another zone has waited for longer, and cannot go on anyway
	Because         reason.Code
}

// Withdraw touches a pod that was noted to be taken down, so that a delete in
// flight cannot succeed. It requires the noted UID and resourceVersion; the
// intent is void once the pod's new version is seen.
type Withdraw struct {
	Intent  Intent
	Because Refusal // what speaks against the deed now
}

// AdoptRevision writes status.currentRevision at the end of a zone's rollout.
// Kubernetes does that only for RollingUpdate.
type AdoptRevision struct {
	Zone     string
	UID      string
	Version  Version
	Revision string
}

// NoteDecrease writes a decrease, or its next stage, into the hold.
type NoteDecrease struct {
	Decrease Decrease
	Former   Decrease // what is left of the one that the hold notes until then, where another one begins
	Because  reason.Code
	Why      string // what a pod said, where preparation failed
}

// VoidDecrease touches a StatefulSet whose decrease was admitted and does not
// come, so that an update in flight cannot succeed. It requires the noted UID
// and resourceVersion; the decrease is overtaken once the new version is seen.
type VoidDecrease struct {
	Decrease Decrease
}

// UndoPreparation tells pods that they stay after all. Their answers are not waited
// for: they are in a later snapshot, and the note stands until all have answered.
type UndoPreparation struct {
	Decrease Decrease
	Pods     []Pod
}

// PreparePods asks who leaves by a decrease of lockstep's own to prepare. Their
// answers are not waited for: they are in a later snapshot.
type PreparePods struct {
	Decrease Decrease
	Pods     []Pod
	Within   time.Duration // how long they may take
}

// EndDecrease takes a decrease off the hold: it has come to its end. Where it
// came into effect, its time is kept.
type EndDecrease struct {
	Decrease  Decrease
	Effective bool
	Failed    string // why pods could not be asked, where that is its end
	Restored  bool   // it was noted before the Lease, or etcd, was restored
}

// StampDownscale writes the time of a downscale on the StatefulSet, where
// people and other tools look for it.
type StampDownscale struct {
	Zone    string
	UID     string
	Version Version
	Time    time.Time
}

// SetReplicas changes spec.replicas of a zone. Fewer are asked for only by the
// decrease that the hold notes, at the version that was judged.
type SetReplicas struct {
	Zone    string
	UID     string
	Version Version
	From    int
	To      int
	Because reason.Code
}

// ReportReplicas writes into the status of a resource how many replicas those have
// that take over its replicas. It requires the UID and the resourceVersion.
type ReportReplicas struct {
	Zone      string // one of those
	Reference Reference
	UID       string
	Version   string
	From      int
	To        int
}

// TellPods tells pods of a zone with a delay that they will leave, or that they
// stay. Their answers are not waited for: they are in a later snapshot.
type TellPods struct {
	Zone    string
	Message Message
	Call    Call // by which they are told
	Former  bool // the zone has another one now, or none
	Pods    []Pod
}

// NoteAgreed writes into the hold which pods of a zone agreed to leave after the
// delay: whoever leads next need not wait for them anew.
type NoteAgreed struct {
	Zone   string
	Agreed Agreement
}

// EndIntent removes an intent from the hold that no other step settles: of a granted
// eviction that was not carried out and no longer can be, of a pod that was deleted and
// that its StatefulSet no longer asks for, or one that was noted before the Lease, or etcd,
// was restored. Only a live read shows any of these.
type EndIntent struct {
	Intent  Intent
	Because reason.Code
}

// NoteZones brings up to date which zones of the group the hold remembers.
type NoteZones struct {
	Joined []string // zones that it does not remember yet
	Gone   []string // zones that left the group and are settled; only a live read shows that
}

// TakePlace keeps a place in the queue for the group: an operation of lockstep's own
// waits for evictions.
type TakePlace struct {
	Waiting Waiting
}

// Release gives the group's hold back.
type Release struct {
	Holder Holder
}

// Wait says what a zone waits for. An empty plan means the goal is reached.
type Wait struct {
	Zone    string
	Because Refusal
	Again   time.Time // when something else in the zone changes by time alone; zero: nothing does
}

// Refusal is an objection of a guard. The zero Refusal is none.
type Refusal struct {
	Code   reason.Code
	Zone   string    // the zone that stands in the way, if it is another one
	Pod    string    // the pod that stands in the way
	Detail string    // bounded text of ours, a container's waiting reason or, once planned, what Kubernetes knows of the pod
	Until  time.Time // when it ends by time alone, unless it is renewed; zero: an event will tell
}

// Deadline returns Until if people may rely on it, and else the zero time: a place in the
// queue lasts longer with each attempt of the operation that has it.
func (r Refusal) Deadline() time.Time {
	if r.Code == reason.QueuedBehindOtherZone {
		return time.Time{}
	}
	return r.Until
}

// None reports whether there is no objection.
func (r Refusal) None() bool { return r.Code == "" }

// Wake returns the earliest time at which one of the waits ends by time alone, or has to
// be looked at again, and the zero time when an event will tell.
func Wake(steps []Action) time.Time {
	var wake time.Time
	for _, step := range steps {
		if wait, ok := step.(Wait); ok {
			wake = earlier(earlier(wake, wait.Because.Until), wait.Again)
		}
	}
	return wake
}

// Lowers reports whether the plan takes replicas away from a zone.
func Lowers(steps []Action) bool {
	for _, step := range steps {
		if a, ok := step.(SetReplicas); ok && a.To < a.From {
			return true
		}
	}
	return false
}

// Disrupts reports whether the plan takes any pod down.
func Disrupts(steps []Action) bool { return Has[DeletePod](steps) }

// Acts reports whether the plan changes what others see: pods, StatefulSets, or a resource
// that zones mirror. Noting that a zone is about to shrink is where that begins.
func Acts(steps []Action) bool {
	for _, step := range steps {
		switch step.(type) {
		case DeletePod, Withdraw, AdoptRevision, NoteDecrease, VoidDecrease, StampDownscale, SetReplicas, ReportReplicas:
			return true
		case PreparePods, UndoPreparation, EndDecrease, TellPods, NoteAgreed, EndIntent, NoteZones, TakePlace, Release, Wait:
		}
	}
	return false
}

// Has reports whether a plan has an action of one kind.
func Has[T Action](steps []Action) bool {
	for _, step := range steps {
		if _, is := step.(T); is {
			return true
		}
	}
	return false
}

// Only returns the actions of one kind.
func Only[T Action](steps []Action) []T {
	var found []T
	for _, step := range steps {
		if a, is := step.(T); is {
			found = append(found, a)
		}
	}
	return found
}
