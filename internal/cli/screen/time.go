package screen

import (
	"fmt"
	"time"
)

// Span returns a duration in a short form: 45s, 12m, 3h20m, 5d.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(0, d).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < 10*time.Minute && d%time.Minute != 0:
		return fmt.Sprintf("%dm%ds", int(d/time.Minute), int(d%time.Minute/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < day && d%time.Hour >= time.Minute:
		return fmt.Sprintf("%dh%dm", int(d/time.Hour), int(d%time.Hour/time.Minute))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// Clock returns a time in RFC 3339, or "" for the zero time.
func Clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
