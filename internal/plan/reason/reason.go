// Package reason is the closed catalogue of everything lockstep can give as a
// reason: for a deed, for a wait, or for asking a person to step in.
//
// One code serves every output: Event, metric label, log field, span attribute,
// webhook message and docs/reasons.md. Codes are therefore bounded, searchable
// and never built from a tenant's text.
package reason

import "fmt"

// Code names one entry of the catalogue, in the CamelCase that Kubernetes
// conditions and Events use. The zero Code means "no objection".
type Code string

// Codes for deeds: why something was done.
const (
	OutdatedRevision   Code = "OutdatedRevision"
	OutdatedAndDown    Code = "OutdatedAndDown"
	RevisionComplete   Code = "RevisionComplete"
	NoLongerWanted     Code = "NoLongerWanted"
	ZoneSettled        Code = "ZoneSettled"
	DownscaleSeen      Code = "DownscaleSeen"
	DownscaleOver      Code = "DownscaleOver"
	DownscaleNeverCame Code = "DownscaleNeverCame"
	DownscaleAdmitted  Code = "DownscaleAdmitted"
	NotShrinking       Code = "NotShrinking"
	NotGuarded         Code = "NotGuarded"
	LeaderFollowed     Code = "LeaderFollowed"
	ReferenceMirrored  Code = "ReferenceMirrored"
	BudgetValid        Code = "BudgetValid"
	EvictionGranted    Code = "EvictionGranted"
	EvictionLapsed     Code = "EvictionLapsed"
	PodIsDown          Code = "PodIsDown"
	PodIsGone          Code = "PodIsGone"
	PodPinned          Code = "PodPinned"
	GroupCovered       Code = "GroupCovered"
	BudgetAlone        Code = "BudgetAlone"
	GroupSettled       Code = "GroupSettled"
	HoldFree           Code = "HoldFree"
	HoldRestored       Code = "HoldRestored"
	ZoneJoined         Code = "ZoneJoined"
)

// Codes for waits that end by themselves.
const (
	PodMissing        Code = "PodMissing"
	PodStarting       Code = "PodStarting"
	PodFailing        Code = "PodFailing"
	PodLeaving        Code = "PodLeaving"
	PodNotYetStable   Code = "PodNotYetStable"
	PodAboutToLeave   Code = "PodAboutToLeave"
	SurplusPods       Code = "SurplusPods"
	OtherZoneNotWhole Code = "OtherZoneNotWhole"
	NotItsTurn        Code = "NotItsTurn"
	GroupHeld         Code = "GroupHeld"
	StatusBehind      Code = "StatusBehind"
	CacheBehind       Code = "CacheBehind"
	ZoneDeleting      Code = "ZoneDeleting"
	TooManyIntents    Code = "TooManyIntents"
	RequestFailing    Code = "RequestFailing"
	ZoneShrinking     Code = "ZoneShrinking"
	DownscaleTooSoon  Code = "DownscaleTooSoon"
	OthersCameFirst   Code = "OthersCameFirst"
	PreparationUndone Code = "PreparationUndone"
	ObjectMoved       Code = "ObjectMoved"
	PreparationFailed Code = "PreparationFailed"
	ParentUnknown     Code = "ParentUnknown"
	CacheEmpty        Code = "CacheEmpty"
	LeaderNotReady    Code = "LeaderNotReady"
	DownscaleDelayed  Code = "DownscaleDelayed"
	PodNotAgreed      Code = "PodNotAgreed"
	ReferenceUnseen   Code = "ReferenceUnseen"
	ReportContested   Code = "ReportContested"
	ReportFailed      Code = "ReportFailed"
	PodNotTold        Code = "PodNotTold"
	EvictionUnderway  Code = "EvictionUnderway"
	PartitionNotWhole Code = "PartitionNotWhole"
	PartitionTooFresh Code = "PartitionTooFresh"
	ClusterRestored   Code = "ClusterRestored"
)

// Codes for waits that only a person ends.
const (
	Paused                Code = "Paused"
	WrongUpdateStrategy   Code = "WrongUpdateStrategy"
	StaleHold             Code = "StaleHold"
	HoldUnreadable        Code = "HoldUnreadable"
	InvalidMaxUnavailable Code = "InvalidMaxUnavailable"
	EmptyGroupName        Code = "EmptyGroupName"
	RequestForbidden      Code = "RequestForbidden"
	InvalidPrepareCall    Code = "InvalidPrepareCall"
	PodOnHostNetwork      Code = "PodOnHostNetwork"
	InvalidDownscaleTime  Code = "InvalidDownscaleTime"
	DownscaleBarred       Code = "DownscaleBarred"
	ObjectUnreadable      Code = "ObjectUnreadable"
	ReplicasUnknown       Code = "ReplicasUnknown"
	LeaderUnknown         Code = "LeaderUnknown"
	LeaderInCycle         Code = "LeaderInCycle"
	ReplicasForced        Code = "ReplicasForced"
	InvalidForceReplicas  Code = "InvalidForceReplicas"
	ReferenceMissing      Code = "ReferenceMissing"
	ReferenceKindUnknown  Code = "ReferenceKindUnknown"
	ReferenceForbidden    Code = "ReferenceForbidden"
	ReferenceUnreadable   Code = "ReferenceUnreadable"
	InvalidReference      Code = "InvalidReference"
	InvalidDelay          Code = "InvalidDelay"
	ReplicasOutOfRange    Code = "ReplicasOutOfRange"
	BudgetInvalid         Code = "BudgetInvalid"
	EvictionsBarred       Code = "EvictionsBarred"
	SeveralBudgets        Code = "SeveralBudgets"
	PartitionUnknown      Code = "PartitionUnknown"
	EvictionUnreadable    Code = "EvictionUnreadable"
	NothingCovered        Code = "NothingCovered"
	SeveralGroups         Code = "SeveralGroups"
	BudgetsUnread         Code = "BudgetsUnread"
	InvalidPausedUntil    Code = "InvalidPausedUntil"
	PauseOver             Code = "PauseOver"
	OrdinalsMoved         Code = "OrdinalsMoved"
	GroupChanged          Code = "GroupChanged"
	NoEffect              Code = "NoEffect"
	InvalidGroup          Code = "InvalidGroup"
	ZoneLeftGroup         Code = "ZoneLeftGroup"
	ReplicasContested     Code = "ReplicasContested"
	InvariantViolated     Code = "InvariantViolated"
)

// Kind tells what a code asks of its reader.
type Kind int

const (
	// Deed explains something that was done.
	Deed Kind = iota
	// Wait ends without anybody's help.
	Wait
	// Attention lasts until a person changes something.
	Attention
)

// String returns the word used in docs/reasons.md.
func (k Kind) String() string {
	switch k {
	case Deed:
		return "deed"
	case Wait:
		return "wait"
	case Attention:
		return "needs a person"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Entry is one row of the catalogue.
type Entry struct {
	Code     Code
	Number   int    // printed as LS-NNN; never used for another code
	Kind     Kind   // what it asks of its reader
	Sentence string // what is the case
	ToDo     string // what a person should do about it
}

// ID returns the number as it is printed: LS-104.
func (e Entry) ID() string { return fmt.Sprintf("LS-%03d", e.Number) }

// Runbook returns the path, within the repository, of the page that says at length
// what to do; empty for what ends without a person.
func (e Entry) Runbook() string {
	if e.Kind != Attention {
		return ""
	}
	return "docs/runbooks/" + string(e.Code) + ".md"
}

// Explain returns the entry of a code. The second result is false for a code
// that is not in the catalogue.
func Explain(c Code) (Entry, bool) {
	e, ok := byCode[c]
	return e, ok
}

// All returns the whole catalogue in the order of its numbers.
func All() []Entry { return append([]Entry(nil), catalogue...) }
