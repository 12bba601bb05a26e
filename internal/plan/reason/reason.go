// Package reason is the closed catalogue of the reasons that lockstep gives for an
// outcome, for a wait, or for a problem that a person must fix.
//
// One code serves every output: Event, metric label, log field, span attribute, webhook
// message and docs/reasons.md. So codes are bounded and searchable, and never contain the
// text of a tenant.
package reason

import "fmt"

// Code names one entry of the catalogue, in the CamelCase that Kubernetes
// conditions and Events use. The zero Code means "no objection".
type Code string

// Codes of outcomes: why something was done or allowed.
const (
	OutdatedRevision       Code = "OutdatedRevision"
	OutdatedAndUnavailable Code = "OutdatedAndUnavailable"
	RevisionComplete       Code = "RevisionComplete"
	DeletionCancelled      Code = "DeletionCancelled"
	HoldReleased           Code = "HoldReleased"
	DownscaleDetected      Code = "DownscaleDetected"
	DownscaleCompleted     Code = "DownscaleCompleted"
	DownscaleCancelled     Code = "DownscaleCancelled"
	DownscaleAdmitted      Code = "DownscaleAdmitted"
	NotADownscale          Code = "NotADownscale"
	NotManaged             Code = "NotManaged"
	LeaderFollowed         Code = "LeaderFollowed"
	ReferenceMirrored      Code = "ReferenceMirrored"
	BudgetValid            Code = "BudgetValid"
	EvictionGranted        Code = "EvictionGranted"
	EvictionLapsed         Code = "EvictionLapsed"
	PodUnavailable         Code = "PodUnavailable"
	PodNotFound            Code = "PodNotFound"
	EvictionBound          Code = "EvictionBound"
	PodsCovered            Code = "PodsCovered"
	NoOtherBudget          Code = "NoOtherBudget"
	GroupComplete          Code = "GroupComplete"
	HoldFree               Code = "HoldFree"
	HoldRestored           Code = "HoldRestored"
	ZoneJoined             Code = "ZoneJoined"
	IdentityBorn           Code = "IdentityBorn"
	IdentityCompleted      Code = "IdentityCompleted"
	IdentityLost           Code = "IdentityLost"
	ScaledDown             Code = "ScaledDown"
	ReplicasExceeded       Code = "ReplicasExceeded"
	ReplicasRecorded       Code = "ReplicasRecorded"
	PodFinished            Code = "PodFinished"
	IdentityHandover       Code = "IdentityHandover"
	HandoverFailed         Code = "HandoverFailed"
	UpdatedInPlace         Code = "UpdatedInPlace"
	UpdatedByNewIdentity   Code = "UpdatedByNewIdentity"
	RevisionRecorded       Code = "RevisionRecorded"
	RevisionsCompared      Code = "RevisionsCompared"
	RevisionUnused         Code = "RevisionUnused"
	RevisionEqual          Code = "RevisionEqual"
	NodeGone               Code = "NodeGone"
	NodeLost               Code = "NodeLost"
	ClaimLost              Code = "ClaimLost"
	CrashLooping           Code = "CrashLooping"
	NeverReady             Code = "NeverReady"
	ClaimsUnneeded         Code = "ClaimsUnneeded"
	ClaimsOwned            Code = "ClaimsOwned"
	AllAvailable           Code = "AllAvailable"
	HandoverUnneeded       Code = "HandoverUnneeded"
	OrphansLookedFor       Code = "OrphansLookedFor"
	PodAdopted             Code = "PodAdopted"
	PodReleased            Code = "PodReleased"
	ClaimsLabelled         Code = "ClaimsLabelled"
	ClaimGrown             Code = "ClaimGrown"
	VolumeUnreachable      Code = "VolumeUnreachable"
	VolumesLookedAt        Code = "VolumesLookedAt"
	ServiceLookedUp        Code = "ServiceLookedUp"
	ReplacementAsked       Code = "ReplacementAsked"
)

// Codes for waits that end by themselves.
const (
	PodMissing            Code = "PodMissing"
	PodStarting           Code = "PodStarting"
	PodFailing            Code = "PodFailing"
	PodTerminating        Code = "PodTerminating"
	PodNotYetAvailable    Code = "PodNotYetAvailable"
	PodDisruptionPending  Code = "PodDisruptionPending"
	SurplusPods           Code = "SurplusPods"
	OtherZoneUnavailable  Code = "OtherZoneUnavailable"
	NotItsTurn            Code = "NotItsTurn"
	GroupHeld             Code = "GroupHeld"
	StatusBehind          Code = "StatusBehind"
	CacheStale            Code = "CacheStale"
	ZoneDeleting          Code = "ZoneDeleting"
	TooManyIntents        Code = "TooManyIntents"
	RequestFailing        Code = "RequestFailing"
	ZoneShrinking         Code = "ZoneShrinking"
	DownscaleTooSoon      Code = "DownscaleTooSoon"
	QueuedBehindOtherZone Code = "QueuedBehindOtherZone"
	PreparationCancelled  Code = "PreparationCancelled"
	ObjectChanged         Code = "ObjectChanged"
	PreparationFailed     Code = "PreparationFailed"
	ParentUnknown         Code = "ParentUnknown"
	CacheNotSynced        Code = "CacheNotSynced"
	LeaderNotReady        Code = "LeaderNotReady"
	DownscaleDelayed      Code = "DownscaleDelayed"
	PodNotAcknowledged    Code = "PodNotAcknowledged"
	ReferenceNotRead      Code = "ReferenceNotRead"
	ReportContested       Code = "ReportContested"
	ReportFailed          Code = "ReportFailed"
	PodNotNotified        Code = "PodNotNotified"
	EvictionInProgress    Code = "EvictionInProgress"
	PartitionUnavailable  Code = "PartitionUnavailable"
	PartitionDelayPending Code = "PartitionDelayPending"
	ClusterRestored       Code = "ClusterRestored"
	PodNotAdopted         Code = "PodNotAdopted"
	TemplateUnchecked     Code = "TemplateUnchecked"
	UpdateUnderway        Code = "UpdateUnderway"
	HandoverUnderway      Code = "HandoverUnderway"
	UpdatesByDeletion     Code = "UpdatesByDeletion"
	EvictionWaits         Code = "EvictionWaits"
	UpdatesPaused         Code = "UpdatesPaused"
	NodeSilent            Code = "NodeSilent"
	UpdateWaits           Code = "UpdateWaits"
	AdoptionWaits         Code = "AdoptionWaits"
	VolumeWaitsForNode    Code = "VolumeWaitsForNode"
	ReplacementPaused     Code = "ReplacementPaused"
	LabelsChanged         Code = "LabelsChanged"
	ObjectDeleting        Code = "ObjectDeleting"
)

// Codes for waits that only a person ends.
const (
	Paused                   Code = "Paused"
	WrongUpdateStrategy      Code = "WrongUpdateStrategy"
	StaleHold                Code = "StaleHold"
	HoldUnreadable           Code = "HoldUnreadable"
	InvalidMaxUnavailable    Code = "InvalidMaxUnavailable"
	EmptyGroupName           Code = "EmptyGroupName"
	RequestForbidden         Code = "RequestForbidden"
	InvalidPrepareCall       Code = "InvalidPrepareCall"
	PodOnHostNetwork         Code = "PodOnHostNetwork"
	InvalidDownscaleTime     Code = "InvalidDownscaleTime"
	DownscaleNotAllowed      Code = "DownscaleNotAllowed"
	ObjectUnreadable         Code = "ObjectUnreadable"
	ReplicasUnknown          Code = "ReplicasUnknown"
	LeaderUnknown            Code = "LeaderUnknown"
	LeaderInCycle            Code = "LeaderInCycle"
	ReplicasForced           Code = "ReplicasForced"
	InvalidForceReplicas     Code = "InvalidForceReplicas"
	ReferenceMissing         Code = "ReferenceMissing"
	ReferenceKindUnknown     Code = "ReferenceKindUnknown"
	ReferenceForbidden       Code = "ReferenceForbidden"
	ReferenceUnreadable      Code = "ReferenceUnreadable"
	InvalidReference         Code = "InvalidReference"
	InvalidDelay             Code = "InvalidDelay"
	ReplicasOutOfRange       Code = "ReplicasOutOfRange"
	BudgetInvalid            Code = "BudgetInvalid"
	EvictionsNotAllowed      Code = "EvictionsNotAllowed"
	SeveralBudgets           Code = "SeveralBudgets"
	PartitionUnknown         Code = "PartitionUnknown"
	EvictionUnreadable       Code = "EvictionUnreadable"
	NoPodsCovered            Code = "NoPodsCovered"
	SeveralGroups            Code = "SeveralGroups"
	BudgetsUnread            Code = "BudgetsUnread"
	InvalidPausedUntil       Code = "InvalidPausedUntil"
	PauseExpired             Code = "PauseExpired"
	OrdinalsChanged          Code = "OrdinalsChanged"
	GroupChanged             Code = "GroupChanged"
	NoEffect                 Code = "NoEffect"
	InvalidGroup             Code = "InvalidGroup"
	ZoneLeftGroup            Code = "ZoneLeftGroup"
	ReplicasContested        Code = "ReplicasContested"
	TemplateInvalid          Code = "TemplateInvalid"
	InPlaceImpossible        Code = "InPlaceImpossible"
	TooManyUnhealthy         Code = "TooManyUnhealthy"
	ExpansionRefused         Code = "ExpansionRefused"
	ProgressDeadlineExceeded Code = "ProgressDeadlineExceeded"
	GraceUnavailable         Code = "GraceUnavailable"
	CreationPrevented        Code = "CreationPrevented"
	InvariantViolated        Code = "InvariantViolated"
)

// Kind says what a code asks of its reader.
type Kind int

const (
	// Outcome explains what was done or allowed, or why there is nothing to do.
	Outcome Kind = iota
	// Wait ends without a person.
	Wait
	// Attention lasts until a person changes something.
	Attention
)

// String returns the word used in docs/reasons.md.
func (k Kind) String() string {
	switch k {
	case Outcome:
		return "outcome"
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
	Sentence string // the fact
	ToDo     string // what a person should do
}

// ID returns the number as it is printed: LS-104.
func (e Entry) ID() string { return fmt.Sprintf("LS-%03d", e.Number) }

// Runbook returns the path, within the repository, of the page with detailed
// instructions. It is empty for a reason that needs no person.
func (e Entry) Runbook() string {
	if e.Kind != Attention {
		return ""
	}
	return "docs/runbooks/" + string(e.Code) + ".md"
}

// Sentence returns the sentence of the catalogue about the code, for users.
func (c Code) Sentence() string {
	entry, _ := Explain(c)
	return entry.Sentence
}

// Explain returns the entry of a code. The second result is false if the code is not in
// the catalogue.
func Explain(c Code) (Entry, bool) {
	e, ok := byCode[c]
	return e, ok
}

// All returns the catalogue in the order of its numbers.
func All() []Entry { return append([]Entry(nil), catalogue...) }
