package contract

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// MinBetween reads the minimum time between downscales of two zones: the
// annotation of that name or, without one, the label.
func MinBetween(annotations, labels map[string]string) plan.Span {
	text, present := annotations[MinBetweenName]
	if !present {
		if text, present = labels[MinBetweenName]; !present {
			return plan.Span{}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return plan.Span{Invalid: MinBetweenName + " is " + shorten(text) + ", accepted are durations like 12h, 90m or 1h30m"}
	}
	return plan.Span{Duration: d}
}

// Downscaled reads when a zone shrank last.
func Downscaled(annotations map[string]string) plan.Moment {
	text, present := annotations[DownscaledAnnotation]
	if !present {
		return plan.Moment{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !inYears(at) {
		return plan.Moment{Invalid: DownscaledAnnotation + " is " + shorten(text) + ", accepted are times like 2026-01-05T12:00:00Z"}
	}
	return plan.Moment{Time: at.UTC()}
}

// PausedUntil reads when the pause of a zone is over.
func PausedUntil(annotations map[string]string) plan.Moment {
	text, present := annotations[PausedUntilAnnotation]
	if !present {
		return plan.Moment{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() || !inYears(at) {
		return plan.Moment{Invalid: PausedUntilAnnotation + " is " + shorten(text) + ", accepted are times like 2026-01-05T12:00:00Z"}
	}
	return plan.Moment{Time: at.UTC()}
}

// inYears tells whether a time can be written in UTC: its offset can carry it out of the
// years that RFC 3339 has.
func inYears(at time.Time) bool {
	year := at.UTC().Year()
	return 0 <= year && year <= 9999
}

// FormatPausedUntil returns the value that PausedUntil reads.
func FormatPausedUntil(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// FormatDownscaled returns the value that Downscaled reads.
func FormatDownscaled(at time.Time) string { return at.UTC().Format(time.RFC3339) }
