package e2e_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// keepsIdentities replaces a member by a new identity, and others by pods with the same names and the same disks: at the
// request of a user, after an eviction, and after a deletion.
func (w *world) keepsIdentities(t *testing.T) {
	t.Parallel()
	p := w.pool(t, "pool-keeps", 2, w.nodes...)
	replaced := &p.begins(3, nil)[0]
	p.addDisks(w.nodes[0])
	p.lockstep("replace", replaced.Name)
	p.serves(3, replaced.Name)
	p.wantEnded(replaced, "ReplacementAsked")
	members := p.settles()
	p.wantIdentities(4)

	p.keepsIdentity(&members[0], func(pod *corev1.Pod) {
		if answer := p.lockstep("replace", pod.Name, "--keep"); !strings.Contains(answer, "kubectl delete pod "+pod.Name+" -n "+p.name) {
			t.Errorf("kubectl lockstep replace --keep prints %q", answer)
		}
		p.deletes(pod)
	})
	p.changesFields(map[string]any{"identityPolicy": map[string]any{"onDelete": "KeepIdentity", "onEviction": "KeepIdentity"}})
	p.settles()
	p.keepsIdentity(&members[1], p.isEvicted)
	p.keepsIdentity(&members[2], p.deletes)
	p.wantIdentities(4)
}

// plugin is the name by which kubectl finds kubectl lockstep. It is in the folder of the enclosure.
const plugin = "kubectl-lockstep"

func buildPlugin(ctx context.Context, dir string) error {
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", filepath.Join(dir, plugin), "./cmd/"+plugin)
	build.Dir, build.Stdout, build.Stderr = repository, os.Stdout, os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return build.Run()
}

// lockstep runs kubectl lockstep like a user, and returns what it prints.
func (p *pool) lockstep(args ...string) string {
	p.t.Helper()
	answer, err := p.answer(p.t.Context(), append(append([]string{"lockstep"}, args...), "--namespace="+p.name)...)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer
}

// deletes deletes a member as a user does.
func (p *pool) deletes(pod *corev1.Pod) {
	p.t.Helper()
	p.run(p.t, "delete", "pod", pod.Name, "--namespace="+p.name, "--wait=false")
}

// keepsIdentity ends a member that has written something, and fails the test unless only that member is followed by another
// pod, which has the same name and finds on the same disk what was written.
func (p *pool) keepsIdentity(pod *corev1.Pod, end func(*corev1.Pod)) {
	p.t.Helper()
	before, written := p.settles(), "before"
	p.wantWritten(pod, written)
	journal := p.journal(pod)
	end(pod)
	p.isFollowed(pod)
	after := p.settles()
	p.wantKept(before, after, 1)
	for i := range after {
		next := &after[i]
		if next.Name != pod.Name {
			continue
		}
		p.wantSuccession(pod, next)
		if !os.SameFile(journal, p.journal(next)) {
			p.t.Errorf("%s has another journal than before", next.Name)
		}
		if found, err := p.call(http.MethodGet, next, "/copies/"+written+"-"+next.Name, ""); found != written {
			p.t.Errorf("%s finds %q on its disk, %v", next.Name, found, err)
		}
	}
}
