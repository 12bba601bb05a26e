package cli

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
)

// pausing is the content of a zone's pause annotations.
type pausing struct {
	reason string
	until  time.Time // zero: without end
}

// pausingOf returns the pause of a zone. The second result is false if the zone is not paused, or
// the pause is over.
func pausingOf(zone *appsv1.StatefulSet, now time.Time) (pausing, bool) {
	p := pausing{zone.Annotations[contract.PausedReasonAnnotation], contract.PausedUntil(zone.Annotations).Time}
	return p, contract.Paused(zone.Annotations) && (p.until.IsZero() || now.Before(p.until))
}

// hasPauseAnnotation reports whether a zone has any pause annotation, even of a pause that is over.
func hasPauseAnnotation(zone *appsv1.StatefulSet) bool {
	for _, key := range []string{contract.PausedAnnotation, contract.PausedReasonAnnotation, contract.PausedUntilAnnotation} {
		if _, has := zone.Annotations[key]; has {
			return true
		}
	}
	return false
}

// defaultReason returns the default reason for pausing a group. It distinguishes these zones from zones
// that were paused separately.
func defaultReason(group string) string { return "kubectl lockstep pause " + group }

// patch returns a patch that replaces the pause of a zone.
func (p pausing) patch() object {
	notes := object{contract.PausedAnnotation: "true", contract.PausedReasonAnnotation: nil, contract.PausedUntilAnnotation: nil}
	if p.reason != "" {
		notes[contract.PausedReasonAnnotation] = p.reason
	}
	if !p.until.IsZero() {
		notes[contract.PausedUntilAnnotation] = contract.FormatPausedUntil(p.until)
	}
	return object{"metadata": object{"annotations": notes}}
}

// unpaused returns a patch that removes the pause of a zone.
func unpaused() object {
	return object{"metadata": object{"annotations": object{
		contract.PausedAnnotation: nil, contract.PausedReasonAnnotation: nil, contract.PausedUntilAnnotation: nil,
	}}}
}

// String returns a pause as text: paused until 2026-01-05T12:00:00Z: INC-123.
func (p pausing) String() string {
	text := "paused"
	if !p.until.IsZero() {
		text += " until " + screen.Clock(p.until)
	}
	if p.reason != "" {
		text += ": " + p.reason
	}
	return text
}
