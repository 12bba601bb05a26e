package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// The group of docs/kubectl.md: at its goal, and in a rollout whose first two pods do not become
// ready.
const (
	ofThePage = `
group mimir ingester
ingester-zone-a rev=ingester-zone-a-6ff6dc7599
  ingester-zone-a-0 ready@ingester-zone-a-6ff6dc7599
ingester-zone-b rev=ingester-zone-b-6ff6dc7599
  ingester-zone-b-0 ready@ingester-zone-b-6ff6dc7599
ingester-zone-c rev=ingester-zone-c-6ff6dc7599
  ingester-zone-c-0 ready@ingester-zone-c-6ff6dc7599
`
	brokenOnThePage = `
group mimir ingester
hold rollout/ingester-zone-a renewed 4s ago
  intent ingester-zone-a-0 uid=before-0 version=5 since=4s
  intent ingester-zone-a-1 uid=before-1 version=6 since=4s
ingester-zone-a rev=ingester-zone-a-5978fd9b8b current=ingester-zone-a-6ff6dc7599 budget=2
  ingester-zone-a-0 failing@ingester-zone-a-5978fd9b8b why=CrashLoopBackOff
  ingester-zone-a-1 failing@ingester-zone-a-5978fd9b8b why=CrashLoopBackOff
  ingester-zone-a-2 ready@ingester-zone-a-6ff6dc7599
ingester-zone-b rev=ingester-zone-b-5978fd9b8b current=ingester-zone-b-6ff6dc7599
  ingester-zone-b-0 ready@ingester-zone-b-6ff6dc7599   ingester-zone-b-1 ready@ingester-zone-b-6ff6dc7599   ingester-zone-b-2 ready@ingester-zone-b-6ff6dc7599
ingester-zone-c rev=ingester-zone-c-5978fd9b8b current=ingester-zone-c-6ff6dc7599
  ingester-zone-c-0 ready@ingester-zone-c-6ff6dc7599   ingester-zone-c-1 ready@ingester-zone-c-6ff6dc7599   ingester-zone-c-2 ready@ingester-zone-c-6ff6dc7599
`
)

var (
	samples  = regexp.MustCompile("(?s)```text\n\\$ .*?```")
	commands = regexp.MustCompile(`(?m)^\$ kubectl lockstep (.*)$`)
	words    = regexp.MustCompile(`"[^"]*"|\S+`)
)

func TestKubectlPageShowsTheOutputOfThePlugin(t *testing.T) {
	const file = "../../docs/kubectl.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	message := samples.ReplaceAllStringFunc(string(page), func(sample string) string {
		played++
		return "```text\n" + playSample(t, sample) + "```"
	})
	if played == 0 {
		t.Fatalf("%s has no samples", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(message), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(message, string(page)); diff != "" {
		t.Errorf("%s (-said +page):\n%s", file, diff)
	}
}

// playSample runs the commands of a sample one after the other and returns the screen. Before a
// sample with resume or release, no rollout is in progress. Before others, the rollout is
// broken.
func playSample(t *testing.T, sample string) string {
	t.Helper()
	var screens []string
	inScene(t, nil, func(s *scene) {
		time.Sleep(time.Until(time.Date(2026, 11, 22, 7, 54, 20, 0, time.UTC)))
		if strings.Contains(sample, "$ kubectl lockstep resume") || strings.Contains(sample, "$ kubectl lockstep release") {
			s.server.show(t, fixture.At(fixture.MustParse(ofThePage), time.Now()))
		} else {
			s.breaks()
		}
		s.server.showPoolOfThePage(strings.Contains(sample, "--keep"))
		s.in = "91b7d2e4c05fa683\n"
		for _, line := range commands.FindAllStringSubmatch(sample, -1) {
			args := []string{"--namespace=mimir"}
			for _, word := range words.FindAllString(line[1], -1) {
				args = append(args, strings.Trim(word, `"`))
			}
			code, out, errs := s.types(args...)
			screen := line[0] + "\n" + out + errs
			if code != exitOK {
				screen += fmt.Sprintf("(exit code %d)\n", code)
			}
			screens = append(screens, screen)
		}
	})
	return strings.Join(screens, "\n")
}

// breaks sets up the rollout of the page, with a paused zone and the operator's
// Events.
func (s *scene) breaks() {
	s.server.show(s.T, fixture.At(fixture.MustParse(brokenOnThePage), time.Now()))
	s.server.put(nodePath, nodeThat(corev1.ConditionTrue, time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)))
	s.succeeds("--namespace=mimir", "pause", "ingester-zone-c", "--for", "1h59m", "--reason", "INC-123: disk replaced")
	for i, event := range []struct{ kind, reason, note string }{
		{corev1.EventTypeWarning, "PodFailing", "waits: a container of the pod cannot run (crash loop, image pull, configuration) (pod ingester-zone-a-1, CrashLoopBackOff, 2 of at most 2 down)"},
		{corev1.EventTypeNormal, "OutdatedRevision", "deleted pod ingester-zone-a-0: the pod does not run the update revision of its StatefulSet"},
	} {
		name := fmt.Sprint("told-", i)
		s.server.put("/api/v1/namespaces/mimir/events/"+name, corev1.Event{
			TypeMeta:       metav1.TypeMeta{Kind: "Event", APIVersion: "v1"},
			ObjectMeta:     metav1.ObjectMeta{Namespace: "mimir", Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "StatefulSet", Namespace: "mimir", Name: "ingester-zone-a"},
			Type:           event.kind, Reason: event.reason, Message: event.note,
			ReportingController: "lockstep", LastTimestamp: metav1.NewTime(time.Now().Add(time.Duration(-3-i) * time.Second)),
		})
	}
}
