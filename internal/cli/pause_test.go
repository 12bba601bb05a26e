package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// calmZones are three zones without a pause.
const calmZones = "group team web\nweb-a rev=1\n web-a-0 ready@1\nweb-b rev=1\n web-b-0 ready@1\nweb-c rev=1\n web-c-0 ready@1\n"

// pauseOf returns the pause annotations of a zone: true|reason|until.
func (s *scene) pauseOf(zone string) string {
	var parts []string
	for _, key := range []string{contract.PausedAnnotation, contract.PausedReasonAnnotation, contract.PausedUntilAnnotation} {
		text, _ := at(s.server.get(zonePath+zone), "metadata", "annotations", key).(string)
		parts = append(parts, text)
	}
	return strings.Join(parts, "|")
}

func (s *scene) wantPauses(want ...string) {
	s.Helper()
	for i, zone := range []string{"web-a", "web-b", "web-c"} {
		if got := s.pauseOf(zone); got != want[i] {
			s.Errorf("%s: got %q, want %q", zone, got, want[i])
		}
	}
}

// ends runs a command line, checks its exit code, and returns its
// output.
func (s *scene) ends(want int, args ...string) string {
	s.Helper()
	code, out, errs := s.types(args...)
	if code != want {
		s.Errorf("%q: exit code %d, want %d: %s%s", args, code, want, out, errs)
	}
	return out + errs
}

const byGroup = "true|kubectl lockstep pause web|"

func inTwoHours() string { return contract.FormatPausedUntil(time.Now().Add(2 * time.Hour)) }

func TestPauseKeepsAnotherPause(t *testing.T) {
	for line, has := range map[string]string{
		"pause zone/web-c":                  "true||",
		"pause zone/web-c --reason disk":    "true|disk|",
		"pause web --reason disk --for 72h": "true|disk|2000-01-04T00:00:00Z",
	} {
		t.Run(line, func(t *testing.T) {
			inScene(t, []string{calmZones}, func(s *scene) {
				s.succeeds(strings.Fields(line)...)
				out := s.ends(exitWaits, "pause", "web", "--for", "2h")
				if !strings.Contains(out, "web-c stays paused") || !strings.Contains(out, "--overwrite") || s.pauseOf("web-c") != has {
					s.Errorf("web-c has %q, want %q; it says:\n%s", s.pauseOf("web-c"), has, out)
				}
				s.ends(exitWaits, "pause", "zone/web-c", "--reason", "other")
				s.succeeds("pause", "web", "--for", "2h", "--overwrite")
				s.wantPauses(byGroup+inTwoHours(), byGroup+inTwoHours(), byGroup+inTwoHours())
			})
		})
	}
}

func TestPauseWithTheSameReasonIsReplaced(t *testing.T) {
	inScene(t, []string{calmZones}, func(s *scene) {
		s.succeeds("pause", "web", "--reason", "INC-1", "--for", "1h")
		s.succeeds("pause", "web", "--reason", "INC-1", "--for", "2h")
		s.wantPauses("true|INC-1|"+inTwoHours(), "true|INC-1|"+inTwoHours(), "true|INC-1|"+inTwoHours())
		time.Sleep(3 * time.Hour) // the pause is over
		s.succeeds("pause", "web")
		s.succeeds("pause", "web") // has no effect
		s.wantPauses(byGroup, byGroup, byGroup)
		s.ends(exitWaits, "pause", "web", "--for", "1h") // lockstep cannot know which user set the existing pauses
		s.wantPauses(byGroup, byGroup, byGroup)
	})
}

func TestResumeEndsOnePauseOfAGroup(t *testing.T) {
	inScene(t, []string{calmZones}, func(s *scene) {
		s.succeeds("pause", "zone/web-c") // one person pauses a zone
		s.ends(exitWaits, "pause", "web") // another pauses the group
		for _, line := range []string{"resume web", "resume web --reason disk"} {
			if out := s.ends(exitWaits, strings.Fields(line)...); strings.Count(out, "stays paused") != 3 || !strings.Contains(out, "--reason 'kubectl lockstep pause web'") {
				s.Errorf("%s says:\n%s", line, out)
			}
			s.wantPauses(byGroup, byGroup, "true||")
		}
		if out := s.ends(exitWaits, "resume", "web", "--reason", "kubectl lockstep pause web"); strings.Count(out, "resumed") != 2 || !strings.Contains(out, "web-c stays paused") {
			s.Errorf("it says:\n%s", out)
		}
		s.wantPauses("||", "||", "true||")
		if out := s.succeeds("resume", "web"); strings.Count(out, "was not paused") != 2 || !strings.Contains(out, "web-c resumed") {
			s.Errorf("it says:\n%s", out)
		}
		s.wantPauses("||", "||", "||")
		s.succeeds("pause", "zone/web-a", "--reason", "disk")
		s.succeeds("pause", "zone/web-b", "--reason", "INC-1", "--for", "1m")
		s.succeeds("pause", "zone/web-c", "--reason", "INC-2")
		s.succeeds("resume", "zone/web-c")
		time.Sleep(time.Hour)
		s.succeeds("resume", "web") // one of the two pauses is over
		s.wantPauses("||", "||", "||")
		s.succeeds("pause", "zone/web-a", "--reason", "disk")
		s.succeeds("pause", "zone/web-b")
		s.succeeds("resume", "web", "--all")
		s.wantPauses("||", "||", "||")
		s.ends(exitFailed, "resume", "web", "--all", "--reason", "x")
	})
}

func TestConcurrentPauseIsKept(t *testing.T) {
	for line, want := range map[string]string{"pause web --reason mine": "true|hers|", "resume web": "true|hers|"} {
		t.Run(line, func(t *testing.T) {
			inScene(t, []string{calmZones}, func(s *scene) {
				if strings.HasPrefix(line, "resume") {
					s.succeeds("pause", "web", "--reason", "mine")
				}
				s.server.refuse = func(r *http.Request) *http.Response {
					if r.Method == http.MethodPatch {
						s.server.refuse = nil
						set := s.server.get(zonePath + "web-a")
						merge(set, object{"metadata": object{"annotations": object{contract.PausedAnnotation: "true", contract.PausedReasonAnnotation: "hers"}}})
						s.server.put(zonePath+"web-a", set)
					}
					return nil
				}
				s.ends(exitWaits, strings.Fields(line)...)
				if got := s.pauseOf("web-a"); got != want {
					s.Errorf("web-a has %q, want %q", got, want)
				}
			})
		})
	}
}
