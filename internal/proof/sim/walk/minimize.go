package walk

import (
	"slices"
	"testing"
)

// maxMinimizeRuns is the maximum number of runs of Minimize.
const maxMinimizeRuns = 400

// maxTraceLines is the maximum number of lines of a trace. Only the end of a longer one is kept.
const maxTraceLines = 120

// Minimize returns a counterexample for the rule that a schedule breaks; nil if the schedule breaks no
// rule. It removes steps of the schedule as long as the schedule still breaks the rule.
func Minimize(t *testing.T, s Schedule) *Counterexample {
	t.Helper()
	violations := Run(t, s).Violations
	if len(violations) == 0 {
		return nil
	}
	runsLeft := maxMinimizeRuns
	for size := max(1, len(s.Steps)/2); size > 0 && runsLeft > 0; {
		shorter := false
		for from := 0; from+size <= len(s.Steps) && runsLeft > 0; runsLeft-- {
			next := s
			next.Steps = slices.Delete(slices.Clone(s.Steps), from, from+size)
			if again := Run(t, next).Violations; len(again) > 0 && again[0].Rule == violations[0].Rule {
				s, shorter = next, true
			} else {
				from += size
			}
		}
		if !shorter {
			size /= 2
		}
	}
	counterexample := runWalk(t, s, true).violation
	counterexample.Trace = counterexample.Trace[max(0, len(counterexample.Trace)-maxTraceLines):]
	return counterexample
}
