package contract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

func TestWhenAZoneShrankIsATimeThatCanBeShownOrSaysWhatIsAccepted(t *testing.T) {
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-05T12:00:00Z":          noon,
		"2026-01-05T14:00:00+02:00":     noon,
		contract.FormatDownscaled(noon): noon,
		"yesterday":                     {},
		"":                              {},
		"9999-12-31T23:59:59-01:00":     {}, // which is in the year 10000
		"0000-01-01T00:00:00+01:00":     {},
	} {
		got := contract.Downscaled(map[string]string{contract.DownscaledAnnotation: text})
		if !got.Time.Equal(want) {
			t.Errorf("%q: got %s, want %s", text, got.Time, want)
		}
		if (got.Invalid != "") != want.IsZero() || (want.IsZero() && !strings.Contains(got.Invalid, "accepted are times like 2026-01-05T12:00:00Z")) {
			t.Errorf("%q: what is wrong is %q", text, got.Invalid)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
