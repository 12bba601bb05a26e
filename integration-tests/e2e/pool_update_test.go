package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// updatesAPoolInPlace changes the image of members that have disks on their nodes.
func (w *world) updatesAPoolInPlace(t *testing.T) {
	t.Parallel()
	p := w.pool(t, "pool-updates", 0, w.nodes...)
	before := p.begins(len(w.nodes), nil)
	p.wantOnDisks(before)
	since := len(p.history())
	p.changesTemplate(image(images.NextMember))
	after := p.settles()
	p.wantKept(before, after, 0)
	p.wantOneDownAtATime(before, since)
	for i := range after {
		was, is := before[i].Status.ContainerStatuses[0], after[i].Status.ContainerStatuses[0]
		if was.ContainerID == is.ContainerID || was.ImageID == is.ImageID || is.RestartCount != 1 {
			t.Errorf("%s ran container %s of %s, and runs %s of %s after %d restarts", after[i].Name, was.ContainerID, was.ImageID, is.ContainerID, is.ImageID, is.RestartCount)
		}
		if version, err := p.ask(after[i].Name, "/version", nil); version != images.NextVersion {
			t.Errorf("%s runs version %q, %v", after[i].Name, version, err)
		}
	}
}

// handsOverAPool changes what cannot be changed in place.
func (w *world) handsOverAPool(t *testing.T) {
	t.Parallel()
	p := w.pool(t, "pool-hands-over", len(w.nodes), w.nodes...)
	before := p.begins(len(w.nodes), nil)
	journals := map[string]os.FileInfo{}
	for i := range before {
		p.wantWritten(&before[i], "before")
		journals[before[i].Name] = p.journal(&before[i])
	}
	since := len(p.history())
	p.changesTemplate(revision("2"))
	after := p.settles()
	p.wantKept(before, after, len(before))
	p.wantOnDisks(after)
	downs := p.wantOneDownAtATime(before, since)
	for i := range after {
		if name := after[i].Name; downs[name] != 1 {
			t.Errorf("%s was down %d times, once wanted", name, downs[name])
		}
		p.wantSuccession(&before[i], &after[i])
		p.wantWritten(&after[i], "after")
		if !os.SameFile(journals[after[i].Name], p.journal(&after[i])) {
			t.Errorf("%s has another journal than before", after[i].Name)
		}
	}
}

// wantWritten fails the test unless a member writes a value, and its journal on its disk has it.
func (p *pool) wantWritten(pod *corev1.Pod, value string) {
	p.t.Helper()
	key := value + "-" + pod.Name
	if _, err := p.call(http.MethodPut, pod, "/copies/"+key, value); err != nil {
		p.t.Error(err)
	}
	content, err := os.ReadFile(p.journalPath(pod))
	if line := fmt.Sprintf("%s %q\n", key, value); err != nil || !strings.Contains(string(content), line) {
		p.t.Errorf("the journal of %s is %q, %v; it lacks %q", pod.Name, content, err, line)
	}
}

// journalPath returns the path of the journal on the disk of a member.
func (p *pool) journalPath(pod *corev1.Pod) string {
	p.t.Helper()
	return filepath.Join(p.diskOf(pod).Spec.Local.Path, "journal")
}

func (p *pool) journal(pod *corev1.Pod) os.FileInfo {
	p.t.Helper()
	info, err := os.Stat(p.journalPath(pod))
	if err != nil {
		p.t.Fatal(err)
	}
	return info
}

// wantSuccession fails the test unless a pod was deleted before the next one of its name was created.
func (p *pool) wantSuccession(former, next *corev1.Pod) {
	p.t.Helper()
	history := p.history()
	gone := slices.IndexFunc(history, func(e judge.Event) bool { return e.Pod != nil && e.Pod.UID == string(former.UID) && e.Pod.Deleted })
	came := slices.IndexFunc(history, func(e judge.Event) bool { return e.Pod != nil && e.Pod.UID == string(next.UID) })
	if gone < 0 || came < 0 || history[gone].Version >= history[came].Version {
		p.t.Errorf("%s was deleted by event %d, and the next one was created by event %d", former.Name, gone, came)
	}
}
