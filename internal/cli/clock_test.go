package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

func TestFastLocalClockDoesNotEndAHold(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.succeeds("hold", "calm", "--reason", "upgrade", "--for", "1h")
		time.Sleep(2 * time.Hour)
		s.server.slow = time.Hour + time.Second // by this clock, the hold lasts a second longer
		if out := s.ends(exitWaits, "hold", "calm", "--reason", "other"); !strings.Contains(out, "manual/upgrade") {
			s.Errorf("it says %q", out)
		}
		time.Sleep(2 * time.Second)
		s.succeeds("hold", "calm", "--reason", "other")
		if got, want := at(s.server.get(leasePath+"lockstep-group-calm"), "spec", "renewTime"), time.Now().Add(-s.server.slow).UTC().Format("2006-01-02T15:04:05.000000Z"); got != want {
			s.Errorf("renewed at %v, want %v, by the server's clock", got, want)
		}
	})
}

func TestOutputUsesTheTimeOfTheAPIServer(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.succeeds("hold", "calm", "--reason", "upgrade", "--for", "1h")
		time.Sleep(2 * time.Hour)
		s.server.slow = 90 * time.Minute
		for _, line := range []string{"why calm", "status"} {
			if out := s.succeeds(strings.Fields(line)...); !strings.Contains(out, "manual/upgrade for 30m") {
				s.Errorf("%s says %q", line, out)
			}
		}
	})
}

func TestPauseEndsByTheTimeOfTheAPIServer(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.server.slow = time.Hour
		s.succeeds("pause", "zone/zone-x", "--for", "2h")
		if got, want := at(s.server.get(zonePath+"zone-x"), "metadata", "annotations", contract.PausedUntilAnnotation), contract.FormatPausedUntil(time.Now().Add(time.Hour)); got != want {
			s.Errorf("until %v, want %v", got, want)
		}
	})
}

func TestHoldIsRefusedIfTheServerTimeIsUnknown(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			answer, err := s.server.answerTo(r)
			if err != nil {
				s.Error(err)
			}
			answer.Header.Set("Date", "once")
			return answer
		}
		for _, line := range []string{"hold calm --reason x", "pause calm", "resume calm"} {
			if out := s.ends(exitFailed, strings.Fields(line)...); !strings.Contains(out, "no Date header") {
				s.Errorf("%s says %q", line, out)
			}
		}
	})
}
