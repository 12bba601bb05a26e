package progress

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLineWithoutTerminalIsPrintedEveryHalfMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := Show(&out, func() string { return "so far" })
		time.Sleep(70 * time.Second)
		l.Print("a remark\n")
		l.End()
		if got, want := out.String(), "so far\nso far\na remark\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	})
}

func TestBar(t *testing.T) {
	for _, tc := range []struct {
		done, total int
		want        string
	}{
		{0, 0, "[........................]"},
		{1, 4, "[######..................]"},
		{5, 4, "[########################]"},
	} {
		if got := Bar(tc.done, tc.total); got != tc.want {
			t.Errorf("%d of %d is %s, want %s", tc.done, tc.total, got, tc.want)
		}
	}
}
