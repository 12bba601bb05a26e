package walk

import (
	"slices"
	"testing"
)

// maxMinimizeRuns is the maximum number of runs to shorten a schedule.
const maxMinimizeRuns = 400

// maxTraceLines is the maximum number of lines of a story; only its end is kept.
const maxTraceLines = 120

// Minimize returns the story of a schedule that breaks a rule, after it has removed steps
// as long as the rule is still broken; nil if the schedule breaks no rule.
func Minimize(t *testing.T, s Schedule) *Counterexample {
	t.Helper()
	broken := Run(t, s).Violations
	if len(broken) == 0 {
		return nil
	}
	left := maxMinimizeRuns
	for size := max(1, len(s.Steps)/2); size > 0 && left > 0; {
		shorter := false
		for from := 0; from+size <= len(s.Steps) && left > 0; left-- {
			next := s
			next.Steps = slices.Delete(slices.Clone(s.Steps), from, from+size)
			if again := Run(t, next).Violations; len(again) > 0 && again[0].Rule == broken[0].Rule {
				s, shorter = next, true
			} else {
				from += size
			}
		}
		if !shorter {
			size /= 2
		}
	}
	story := runWalk(t, s, true).violation
	story.Trace = story.Trace[max(0, len(story.Trace)-maxTraceLines):]
	return story
}
