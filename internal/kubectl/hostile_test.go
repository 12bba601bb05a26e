package kubectl

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/kubectl/screen"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// hostile is what a tenant may write into an annotation, an Event, a holder.
var hostile = []string{
	"\x1b[2J\x1b]0;owned\x07", "\u009b2J", "a\r\nb\tc", "\u202eevil\u202c", "z\u200bero", "Z" + strings.Repeat("\u0300", 500),
	strings.Repeat("long ", 5000), "\xff\xfe", `"'` + "`$(reboot)", "日本語のなまえ", "👩‍👩‍👧‍👦", "\x00", "{{.}} %s %!d",
}

func TestNothingUncheckedReachesATerminal(t *testing.T) {
	lines := []string{
		"status", "status -o yaml", "status -o json", "why store", "why store -o yaml", "why store -o json", "why zone-a-1", "plan store",
		"snapshot store", "snapshot store -o json", "release store", "hold store --reason x", "history store",
	}
	for _, text := range hostile {
		for where, style := range map[string]screen.Style{"plain": {}, "terminal": {Bars: true, Columns: 80}} {
			inScene(t, []string{rolling}, func(s *scene) {
				s.style = style
				s.server.event("StatefulSet", "zone-a", text, text, text, time.Now())
				poison(s, text)
				for _, line := range lines {
					_, out, errs := s.types(strings.Fields(line)...)
					harmless(s, where+" "+line, out+errs)
				}
				_, out, errs := s.types("why", text)
				harmless(s, "what is typed", out+errs)
				_, out, errs = s.types("pause", "store", "--reason", text)
				harmless(s, "a reason", out+errs)
			})
		}
	}
}

// poison writes text wherever somebody can who may write to a namespace.
func poison(s *scene, text string) {
	set := s.server.get(zonePath + "zone-b")
	notes, _ := at(set, "metadata", "annotations").(object)
	for _, key := range []string{contract.PausedReasonAnnotation, contract.PausedUntilAnnotation, contract.MaxUnavailableAnnotation, contract.LeaderAnnotation, contract.ForceAnnotation, contract.MirrorNameAnnotation} {
		notes[key] = text
	}
	s.server.put(zonePath+"zone-b", set)
	held := s.server.get(leasePath + "lockstep-group-store")
	within, _ := at(held, "spec").(object)
	within["holderIdentity"] = "manual/" + text
	traced, _ := at(held, "metadata", "annotations").(object)
	traced[contract.TraceAnnotation] = "00-" + text + "-x-01"
	s.server.put(leasePath+"lockstep-group-store", held)
	w := fixture.MustParse(rolling)
	pod := w.Zones[0].Pods[1]
	pod.Revision, pod.Version, pod.Phase, pod.Why = text, 6000, plan.Failing, "CrashLoopBackOff"
	s.server.put("/api/v1/namespaces/team/pods/zone-a-1", podIn("team", w.Zones[0], pod))
}

// harmless objects to what a terminal would obey, or would show in another order.
func harmless(s *scene, where, text string) {
	s.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			s.Errorf("%s: %U reaches the terminal", where, r)
			return
		}
	}
}
