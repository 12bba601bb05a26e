package cli

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
)

// pausing is what the annotations of a zone say of its pause.
type pausing struct {
	reason string
	until  time.Time // zero: until somebody ends it
}

// pausingOf returns the pause of a zone. The second result is false where there is none,
// or none any more.
func pausingOf(zone *appsv1.StatefulSet, now time.Time) (pausing, bool) {
	p := pausing{zone.Annotations[contract.PausedReasonAnnotation], contract.PausedUntil(zone.Annotations).Time}
	return p, contract.Paused(zone.Annotations) && (p.until.IsZero() || now.Before(p.until))
}

// speaksOfPause reports whether a zone has an annotation about a pause, over or not.
func speaksOfPause(zone *appsv1.StatefulSet) bool {
	for _, key := range []string{contract.PausedAnnotation, contract.PausedReasonAnnotation, contract.PausedUntilAnnotation} {
		if _, has := zone.Annotations[key]; has {
			return true
		}
	}
	return false
}

// ofWholeGroup is the reason of a pause of a whole group for which nobody gave one: it
// tells those zones from others that somebody has paused by themselves.
func ofWholeGroup(group string) string { return "kubectl lockstep pause " + group }

// patch writes a pause in place of what the zone has.
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

// unpaused takes a pause away, and what is said of it.
func unpaused() object {
	return object{"metadata": object{"annotations": object{
		contract.PausedAnnotation: nil, contract.PausedReasonAnnotation: nil, contract.PausedUntilAnnotation: nil,
	}}}
}

// String returns a pause as one says it: paused until 2026-01-05T12:00:00Z: INC-123.
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
