package cli

import (
	"strings"
	"testing"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
)

func TestMaliciousTextsAreEscapedOnATerminal(t *testing.T) {
	lines := []string{
		"status", "status -o yaml", "status -o json", "why store", "why store -o yaml", "why store -o json", "why zone-a-1", "plan store",
		"snapshot store", "snapshot store -o json", "release store", "hold store --reason x", "history store",
	}
	for _, text := range fuzzcorpus.Texts() {
		for where, style := range map[string]screen.Style{"plain": {}, "terminal": {Bars: true, Columns: 80}} {
			if len(text) > 10_000 && style.Bars {
				continue // long texts are truncated before they have a style
			}
			inScene(t, []string{rolling}, func(s *scene) {
				s.style = style
				s.server.event("StatefulSet", "zone-a", text, text, text, time.Now())
				poison(s, text)
				for _, line := range lines {
					_, out, errs := s.types(strings.Fields(line)...)
					harmless(s, where+" "+line, out+errs)
				}
				_, out, errs := s.types("why", text)
				harmless(s, "the arguments", out+errs)
				_, out, errs = s.types("pause", "store", "--reason", text)
				harmless(s, "a reason", out+errs)
			})
		}
	}
}

// poison writes text into all fields that a user of the namespace can write.
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
	now := time.Now()
	way := plan.RolledZone{Name: text + "x", From: "1", To: text, Since: now, Until: now}
	traced[contract.RolloutsAnnotation] = record.FormatRollouts(plan.Rollouts{Finished: []plan.RolledGroup{{Trace: "00-" + text, Since: now, Until: now, Zones: []plan.RolledZone{way}}}})
	s.server.put(leasePath+"lockstep-group-store", held)
	w := fixture.MustParse(rolling)
	pod := w.Zones[0].Pods[1]
	pod.Revision, pod.Version, pod.Phase, pod.Why = text, 6000, plan.Failing, "CrashLoopBackOff"
	broken := podIn("team", w.Zones[0], pod)
	broken.Status.ContainerStatuses[0].Name, broken.Status.ContainerStatuses[0].State.Waiting.Message = text, text
	broken.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: text, Message: "first\n" + text}
	broken.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: text, Message: text}}
	s.server.put("/api/v1/namespaces/team/pods/zone-a-1", broken)
	lost := nodeThat(corev1.ConditionUnknown, now)
	lost.Status.Conditions[0].Reason, lost.Status.Conditions[0].Message = text, text
	s.server.put(nodePath, lost)
}

// harmless fails the test if text contains characters that a terminal interprets or that change its
// direction.
func harmless(s *scene, where, text string) {
	s.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			s.Errorf("%s: %U reaches the terminal", where, r)
			return
		}
	}
}

// The longest names that a group and a StatefulSet can have: a pod's revision, which is
// the name and a hash, is a label of it.
const (
	longGroup = "Group_of.the-longest-name-that-a-label-may-have_that-is-63.char"
	longZone  = "a-statefulset-whose-pods-and-revisions-still-get-nm" // and a digit
)

const longNames = `
group team GROUP
hold rollout/ZONE0
  intent ZONE0-0 uid=before version=5
ZONE0 rev=ZONE0-56f7d9c8b4 current=1
  ZONE0-0 failing@ZONE0-56f7d9c8b4 why=CrashLoopBackOff
ZONE1 rev=ZONE1-56f7d9c8b4 current=1
  ZONE1-0 ready@1
`

func TestLongestNamesAreShownCompletely(t *testing.T) {
	snapshotFor := strings.NewReplacer("GROUP", longGroup, "ZONE", longZone).Replace(longNames)
	for line, names := range map[string][]string{
		"status":                                  {longGroup, longZone + "0", longZone + "1", "PodFailing " + longZone + "0-0"},
		"why " + longGroup:                        {longGroup, longZone + "0 PodFailing " + longZone + "0-0", longZone + "1 NotItsTurn " + longZone + "0"},
		"why " + longZone + "1-0":                 {longGroup, longZone + "1-0", "the wanted revision is " + longZone + "1-56f7d9c8b4"},
		"plan " + longGroup:                       {"wait " + longZone + "0 because PodFailing " + longZone + "0-0"},
		"snapshot " + longGroup:                   {longGroup, longZone + "0-0 failing@" + longZone + "0-56f7d9c8b4"},
		"history " + longGroup:                    {longGroup},
		"restart " + longGroup:                    {longZone + "0", longZone + "1"},
		"pause " + longGroup:                      {longZone + "0", longZone + "1"},
		"hold group/" + longGroup + " --reason x": {longGroup, "rollout/" + longZone + "0"},
	} {
		for where, style := range map[string]screen.Style{"plain": {}, "terminal": {Bars: true, Columns: 200}} {
			inScene(t, []string{snapshotFor}, func(s *scene) {
				s.style = style
				_, out, errs := s.types(strings.Fields(line)...)
				for _, name := range names {
					if !strings.Contains(out, name) {
						s.Errorf("%s, %s: %q is not in\n%s%s", where, line, name, out, errs)
					}
				}
			})
		}
	}
	inScene(t, []string{snapshotFor}, func(s *scene) {
		want := s.succeeds("plan", longGroup, "-o", "json")
		s.in = s.succeeds("snapshot", longGroup)
		if got := s.succeeds("plan", "-f", "-", "-o", "json"); got != want {
			s.Errorf("from a snapshot the plan is\n%swant\n%s", got, want)
		}
	})
}
