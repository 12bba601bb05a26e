package walk

import (
	"slices"
	"testing"
)

// mostRetellings is the maximum number of runs to shorten a schedule.
const mostRetellings = 400

// longestStory is the maximum number of lines of a story; only its end is kept.
const longestStory = 120

// Retell returns the story of a schedule that breaks a rule, after it has removed steps
// as long as the rule is still broken; nil if the schedule breaks no rule.
func Retell(t *testing.T, s Schedule) *Story {
	t.Helper()
	broken := Run(t, s).Broken
	if len(broken) == 0 {
		return nil
	}
	left := mostRetellings
	for size := max(1, len(s.Steps)/2); size > 0 && left > 0; {
		shorter := false
		for from := 0; from+size <= len(s.Steps) && left > 0; left-- {
			next := s
			next.Steps = slices.Delete(slices.Clone(s.Steps), from, from+size)
			if again := Run(t, next).Broken; len(again) > 0 && again[0].Rule == broken[0].Rule {
				s, shorter = next, true
			} else {
				from += size
			}
		}
		if !shorter {
			size /= 2
		}
	}
	story := live(t, s, true).broken
	story.Lines = story.Lines[max(0, len(story.Lines)-longestStory):]
	return story
}
