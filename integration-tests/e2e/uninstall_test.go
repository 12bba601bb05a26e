package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// uninstalls types the commands of docs/installation.md one by one: what lockstep is
// made of, the Leases of groups, which go only with this, and the definitions.
func (w *world) uninstalls(t *testing.T) {
	free, held := w.scene(t, "uninstalls", 2), w.scene(t, "uninstalls-held", 1)
	scenes := map[*scene]string{free: "", held: "rollout/store-zone-a"}
	for s := range scenes {
		w.run(t, "apply", "--namespace="+s.name, "-f", "testdata/budget.yaml", "-f", "testdata/replicatemplate.yaml")
		s.create(zone("a", 1), zone("b", 1))
	}
	free.change(revision("2"))
	free.settled()
	held.change(runs(missingImage))
	eventually(t, "a pod lacks its image", func() error { return held.lacksImage("store-zone-a-0") })
	before := map[*scene]*judge.Hold{}
	for s, holder := range scenes {
		if before[s] = s.hold(); before[s] == nil || before[s].Holder != holder {
			t.Fatalf("the Lease of %s says %+v, %q wanted as its holder", s.name, before[s], holder)
		}
	}

	commands := uninstallation(t)
	w.types(t, commands.program)
	for s := range scenes {
		if after := s.hold(); !reflect.DeepEqual(before[s], after) {
			t.Errorf("without lockstep the Lease of %s says %+v, before %+v", s.name, after, before[s])
		}
	}
	w.types(t, commands.leases)
	for s := range scenes {
		if left := s.hold(); left != nil {
			t.Errorf("the Lease of %s is still there: %+v", s.name, left)
		}
	}
	w.types(t, commands.definitions)
	w.wantNoTraces(t)
}

// hold is what the Lease of the scene's group says; nil: there is none.
func (s *scene) hold() *judge.Hold {
	s.t.Helper()
	lease, err := s.admin.CoordinationV1().Leases(s.name).Get(s.t.Context(), "lockstep-group-"+group, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return judge.HoldOf(lease)
}

// uninstallationPage has the commands that remove lockstep.
var uninstallationPage = filepath.Join(repository, "docs", "installation.md")

type uninstallCommands struct{ program, leases, definitions string }

// uninstallation is what stands there, for what the suite applies in the place of the
// overlay with webhooks: the definitions apart, since others may need them.
func uninstallation(t *testing.T) uninstallCommands {
	t.Helper()
	page, err := os.ReadFile(uninstallationPage)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Uninstall\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := shellBlock.FindAllStringSubmatch(section, -1)
	if len(blocks) != 2 {
		t.Fatalf("%s has %d blocks of commands below Uninstall", uninstallationPage, len(blocks))
	}
	usual, definitions := strings.Split(blocks[0][1], "\n"), blocks[1][1]
	program, applied := strings.CutSuffix(usual[0], " -k manifests/overlays/webhooks")
	if !applied || len(usual) != 2 || strings.Contains(definitions, "\n") {
		t.Fatalf("%s has other commands below Uninstall: %q", uninstallationPage, blocks)
	}
	return uninstallCommands{program + " -k " + kustomization(t, manifests, images.Operator), usual[1], definitions}
}

// shellBlock is a block of commands in a page.
var shellBlock = regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n")

// types carries out a command of the documentation in the root of the source tree.
func (w *world) types(t *testing.T, command string) {
	t.Helper()
	typed := exec.CommandContext(t.Context(), "sh", "-euc", command)
	typed.Dir = repository
	typed.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "PATH="+filepath.Dir(w.kubectl)+":"+os.Getenv("PATH"))
	out, err := typed.CombinedOutput()
	t.Logf("%s\n%s", command, out)
	if err != nil {
		t.Fatal(errors.Join(errors.New(command), err))
	}
}
