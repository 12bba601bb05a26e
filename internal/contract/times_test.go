package contract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// moments are the annotations that contain a time.
var moments = map[string]func(map[string]string) plan.Moment{
	contract.DownscaledAnnotation:  contract.Downscaled,
	contract.PausedUntilAnnotation: contract.PausedUntil,
}

func TestATimeIsRepresentableOrItsErrorNamesAcceptedValues(t *testing.T) {
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-05T12:00:00Z":           noon,
		"2026-01-05T14:00:00+02:00":      noon,
		contract.FormatDownscaled(noon):  noon,
		contract.FormatPausedUntil(noon): noon,
		"2h":                             {},
		"yesterday":                      {},
		"":                               {},
		"2026-01-05":                     {},
		"9999-12-31T23:59:59-01:00":      {}, // in UTC, that is in the year 10000
		"0000-01-01T00:00:00+01:00":      {},
	} {
		for name, read := range moments {
			got := read(map[string]string{name: text})
			if !got.Time.Equal(want) {
				t.Errorf("%s %q: got %s, want %s", name, text, got.Time, want)
			}
			if says := strings.Contains(got.Invalid, "must be a time such as 2026-01-05T12:00:00Z"); says != want.IsZero() {
				t.Errorf("%s %q: the remark is %q", name, text, got.Invalid)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Errorf("%s %q: %v", name, text, err)
			}
		}
	}
}

func TestThePauseOfAZoneDoesNotEndBeforeAllTimes(t *testing.T) {
	const zero = "0001-01-01T00:00:00Z"
	if got := contract.PausedUntil(map[string]string{contract.PausedUntilAnnotation: zero}); got.Invalid == "" {
		t.Errorf("got %+v, want that it is not a time", got)
	}
}
