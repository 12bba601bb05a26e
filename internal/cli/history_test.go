package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

var noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

var rolled = plan.Rollouts{
	Current: plan.RolledGroup{
		Since: noon, Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Zones: []plan.RolledZone{
			{Name: "zone-a", From: "web-1", To: "web-2", Since: noon, Until: noon.Add(10 * time.Minute), Replaced: 10},
			{Name: "zone-b", From: "web-1", To: "web-2", Since: noon.Add(10 * time.Minute), Replaced: 3},
		},
	},
	Finished: []plan.RolledGroup{
		{
			Since: noon.Add(-26 * time.Hour), Until: noon.Add(-25 * time.Hour),
			Zones: []plan.RolledZone{
				{Name: "zone-a", From: "web-0", To: "web-1", Since: noon.Add(-26 * time.Hour), Until: noon.Add(-25*time.Hour - 40*time.Minute), Replaced: 10},
				{Name: "zone-b\x1b[2J", From: "web-0", To: "web-1", Since: noon.Add(-25*time.Hour - 40*time.Minute), Until: noon.Add(-25 * time.Hour), Replaced: 10},
			},
		},
	},
}

func TestHistoryShowsTheNewestRolloutFirst(t *testing.T) {
	for where, style := range map[string]screen.Style{"plain": {}, "terminal": onTerminal} {
		var out bytes.Buffer
		a := &app{streams: Streams{Out: &out, Err: &out}, style: style, now: func() time.Time { return noon.Add(20 * time.Minute) }}
		if err := a.printHistory(plan.Key{Namespace: "team", Name: "store"}, rolloutsOf(rolled)); err != nil {
			t.Fatal(err)
		}
		golden(t, "history-of-two."+where+".golden", out.String())
	}
}

// A time zone can move the last year to a year that JSON cannot express.
func TestTimeWithoutJSONFormIsOmitted(t *testing.T) {
	if at := moment(time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))); at != nil {
		t.Errorf("it is shown as %s", at)
	}
}
