package cli

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
)

// pausing is the content of the pause annotations of a zone or of a StatefulCluster.
type pausing struct {
	reason string
	until  time.Time // zero: without end
}

// pausingOf returns the pause of a zone. The second result is false if the zone is not paused, or
// the pause is over.
func pausingOf(zone *appsv1.StatefulSet, now time.Time) (pausing, bool) {
	return pausingIn(zone.Annotations, contract.Paused(zone.Annotations), now)
}

// pausingIn returns the pause of an object with these annotations. The second result is false if the object is
// not marked as paused, or the pause is over.
func pausingIn(annotations map[string]string, marked bool, now time.Time) (pausing, bool) {
	until := contract.PausedUntil(annotations)
	return pausing{annotations[contract.PausedReasonAnnotation], until.Time}, marked && until.PausesAt(now)
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
	notes := p.annotations()
	notes[contract.PausedAnnotation] = "true"
	return object{"metadata": object{"annotations": notes}}
}

// annotations are the reason and the end of the pause, as a patch.
func (p pausing) annotations() object {
	notes := object{contract.PausedReasonAnnotation: nil, contract.PausedUntilAnnotation: nil}
	if p.reason != "" {
		notes[contract.PausedReasonAnnotation] = p.reason
	}
	if !p.until.IsZero() {
		notes[contract.PausedUntilAnnotation] = contract.FormatPausedUntil(p.until)
	}
	return notes
}

// pausingFor returns a pause that begins now. It has no end if it lasts for 0.
func pausingFor(why string, lasts time.Duration, now time.Time) pausing {
	p := pausing{reason: why}
	if lasts > 0 {
		p.until = now.Add(lasts)
	}
	return p
}

// unpaused returns a patch that removes the pause of a zone.
func unpaused() object {
	return object{"metadata": object{"annotations": object{
		contract.PausedAnnotation: nil, contract.PausedReasonAnnotation: nil, contract.PausedUntilAnnotation: nil,
	}}}
}

// String returns a pause as text: paused until 2026-01-05T12:00:00Z: INC-123.
func (p pausing) String() string {
	text := p.span()
	if p.reason != "" {
		text += ": " + p.reason
	}
	return text
}

// span returns a pause as text, without its reason: paused until 2026-01-05T12:00:00Z.
func (p pausing) span() string {
	if p.until.IsZero() {
		return "paused"
	}
	return "paused until " + screen.Clock(p.until)
}
