package judge

import "testing"

func TestEveryLawCanBeBrokenAlone(t *testing.T) {
	for want, d := range map[string]Disruption{
		"":               {Down: 2, Budget: 2},
		"ExactTarget":    {Strange: true},
		"StandStill":     {Still: true},
		"OneZoneAtATime": {Elsewhere: true},
		"RestIsWhole":    {Rest: 1},
		"WithinBudget":   {Down: 3, Budget: 2},
		"NotedFirst":     {Unnoted: true},
	} {
		if got := d.Broken(All); got != want {
			t.Errorf("%+v breaks %q, want %q", d, got, want)
		}
		if got := d.Broken(func(law string) bool { return law != want }); got != "" {
			t.Errorf("%+v breaks %q although that is not judged", d, got)
		}
	}
}

func TestWhatIsBoundByNoBudgetBreaksNone(t *testing.T) {
	if got := (Disruption{Down: 9}).Broken(All); got != "" {
		t.Errorf("it breaks %q", got)
	}
}
