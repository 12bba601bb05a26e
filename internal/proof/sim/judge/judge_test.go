package judge

import "testing"

func TestEveryRuleCanBeBrokenAlone(t *testing.T) {
	for want, d := range map[string]Disruption{
		"":                    {Down: 2, Budget: 2},
		"ExactTarget":         {WrongTarget: true},
		"NotPaused":           {Paused: true},
		"OneZoneAtATime":      {OtherZoneDisrupted: true},
		"OtherZonesAvailable": {OtherZonesDown: 1},
		"WithinBudget":        {Down: 3, Budget: 2},
		"RecordedFirst":       {Unrecorded: true},
	} {
		if got := d.BrokenRule(AllRules); got != want {
			t.Errorf("%+v breaks %q, want %q", d, got, want)
		}
		if got := d.BrokenRule(func(rule string) bool { return rule != want }); got != "" {
			t.Errorf("%+v breaks %q although that rule is not checked", d, got)
		}
	}
}

func TestDisruptionWithoutBudgetBreaksNoRule(t *testing.T) {
	if got := (Disruption{Down: 9}).BrokenRule(AllRules); got != "" {
		t.Errorf("a disruption without a budget breaks %q", got)
	}
}
