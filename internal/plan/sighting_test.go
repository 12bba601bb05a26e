package plan_test

import (
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestASightingIsATimeAfterItsSecond(t *testing.T) {
	second := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for sentence, tc := range map[string]struct{ late, want time.Duration }{
		"as it begins":             {0, 0},
		"a little later":           {1234 * time.Millisecond, 1234 * time.Millisecond},
		"in milliseconds":          {1999 * time.Microsecond, time.Millisecond},
		"not before":               {-time.Hour, 0},
		"a year later is too much": {365 * 24 * time.Hour, (1<<32 - 2) * time.Millisecond},
	} {
		s := plan.SightingOf(second, second.Add(tc.late))
		if got := s.Time(second).Sub(second); got != tc.want || s == 0 {
			t.Errorf("%s: got %s, want %s", sentence, got, tc.want)
		}
	}
	if got := plan.Sighting(0).Time(second); got != second {
		t.Errorf("an event that was not seen has the time %s", got)
	}
}
