package contract

import (
	"strconv"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// MaxUnavailable parses the annotation rollout-max-unavailable. White space around the value is ignored. An
// invalid value means one pod; it is kept for the report, shortened.
func MaxUnavailable(annotations map[string]string) plan.Budget {
	text, present := annotations[MaxUnavailableAnnotation]
	if !present {
		return plan.Budget{}
	}
	value := strings.TrimSpace(text)
	if digits, isPercent := strings.CutSuffix(value, "%"); isPercent {
		if percent, ok := positive(digits, 100); ok {
			return plan.Budget{Percent: percent}
		}
		return plan.Budget{Invalid: shorten(text)}
	}
	if pods, ok := positive(value, 1<<31-1); ok {
		return plan.Budget{Pods: pods}
	}
	return plan.Budget{Invalid: shorten(text)}
}

// Paused reports whether the annotation is exactly "true".
func Paused(annotations map[string]string) bool {
	return annotations[PausedAnnotation] == "true"
}

// Leader returns the name of the zone that this zone follows. A text that is too long for a name is shortened
// but remains too long, so that no more of it is kept in memory.
func Leader(annotations map[string]string) string {
	name := annotations[LeaderAnnotation]
	if len(name) > longestSubdomain {
		return strings.Clone(name[:longestSubdomain+1])
	}
	return name
}

// AfterLeader reports whether the annotation is exactly "true".
func AfterLeader(annotations map[string]string) bool {
	return annotations[AfterLeaderAnnotation] == "true"
}

// Force parses the forced number of replicas. White space around it is ignored. An invalid value is kept for
// the report, shortened.
func Force(annotations map[string]string) group.Force {
	text, present := annotations[ForceAnnotation]
	if !present {
		return group.Force{}
	}
	value := strings.TrimSpace(text)
	if n, ok := positive(value, 1<<31-1); ok || value == "0" {
		return group.Force{Given: true, Replicas: n}
	}
	return group.Force{Invalid: shorten(text)}
}

// positive parses a plain decimal number from 1 to limit.
func positive(text string, limit int) (int, bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && 1 <= n && n <= limit
}

// shorten returns a tenant's text in a form that can be quoted. An empty text becomes visible.
func shorten(text string) string {
	const longest = 40
	quoted := strconv.QuoteToASCII(text)
	if len(quoted) > longest {
		return quoted[:longest] + "..."
	}
	return quoted
}
