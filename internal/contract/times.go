package contract

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// MinBetween parses the minimum time between downscales of two zones, from the annotation of that name or, if
// it is missing, from the label.
func MinBetween(annotations, labels map[string]string) group.Span {
	text, present := annotations[MinBetweenName]
	if !present {
		if text, present = labels[MinBetweenName]; !present {
			return group.Span{}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return group.Span{Invalid: MinBetweenName + " is " + shorten(text) + ": must be a duration such as 12h, 90m or 1h30m"}
	}
	return group.Span{Duration: d}
}

// Downscaled parses the time at which a zone was last scaled down.
func Downscaled(annotations map[string]string) plan.Moment {
	return moment(annotations, DownscaledAnnotation)
}

// PausedUntil parses the time at which the pause of a zone or of a StatefulCluster ends.
func PausedUntil(annotations map[string]string) plan.Moment {
	until := moment(annotations, PausedUntilAnnotation)
	if text, present := annotations[PausedUntilAnnotation]; present && until == (plan.Moment{}) {
		return noMoment(PausedUntilAnnotation, text) // the zero time would mean a pause without an end
	}
	return until
}

// moment parses a time. It rejects a time whose offset moves it beyond the years of RFC 3339, because that
// cannot be written in UTC.
func moment(annotations map[string]string, name string) plan.Moment {
	text, present := annotations[name]
	if !present {
		return plan.Moment{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if year := at.UTC().Year(); err != nil || year < 0 || year > 9999 {
		return noMoment(name, text)
	}
	return plan.Moment{Time: at.UTC()}
}

func noMoment(name, text string) plan.Moment {
	return plan.Moment{Invalid: name + " is " + shorten(text) + ": must be a time such as 2026-01-05T12:00:00Z"}
}

// FormatPausedUntil returns the value that PausedUntil parses.
func FormatPausedUntil(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// FormatDownscaled returns the value that Downscaled parses.
func FormatDownscaled(at time.Time) string { return at.UTC().Format(time.RFC3339) }
