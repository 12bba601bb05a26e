package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// uninstalls runs the command of docs/installation.md. It deletes the objects of lockstep first,
// then the Leases of groups, which nothing else deletes, and then the CRDs.
func (w *world) uninstalls(t *testing.T) {
	free, held := w.scene(t, "uninstalls", 3), w.scene(t, "uninstalls-held", 1)
	scenes := map[*scene]string{free: "", held: "rollout/store-zone-a"}
	for s := range scenes {
		w.run(t, "apply", "--namespace="+s.name, "-f", "testdata/budget.yaml", "-f", "testdata/replicatemplate.yaml")
	}
	free.create(zone("a", 2), zone("b", 1))
	free.change(revision("2"))
	free.settled()
	free.wantStamped("store-zone-a", free.scaleDownByPatch)
	free.settled()
	held.create(zone("a", 1), zone("b", 1))
	held.change(runs(missingImage))
	eventually(t, "a pod lacks its image", func() error { return held.lacksImage("store-zone-a-0") })
	before := map[*scene]*judge.Hold{}
	for s, holder := range scenes {
		if before[s] = s.hold(); before[s] == nil || before[s].Holder != holder {
			t.Fatalf("the Lease of %s contains %+v, %q wanted as its holder", s.name, before[s], holder)
		}
	}
	witness, err := judge.Watch(t.Context(), w.admin, nil, home)
	if err != nil {
		t.Fatal(err)
	}

	command := w.uninstallation(t)
	w.types(t, command)
	w.wantNoTraces(t)
	w.types(t, command) // finds nothing and succeeds
	without := deletedAt(t, witness)
	for s := range scenes {
		s.wantKept(before[s], without)
		s.wantMarks(documentedMarks(t), zone("a", 1))
	}
	if mark := (mark{lastDownscale, "annotation on StatefulSet"}); !free.marks(zone("a", 1))[mark] {
		t.Errorf("a zone was scaled down, and has no %s", mark)
	}
}

// deletedAt returns the version at which the namespace of lockstep was deleted.
func deletedAt(t *testing.T, witness *judge.Observer) (version uint64) {
	t.Helper()
	eventually(t, "a watch shows that lockstep is removed", func() error {
		facts, err := witness.Events()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range facts {
			if f.NamespaceState != nil && f.NamespaceState.Deleted {
				version = f.Version
				return nil
			}
		}
		return errors.New("it has not yet")
	})
	return version
}

// wantKept fails the test unless the Lease of the group had this content until its deletion, and
// the deletion came after this version.
func (s *scene) wantKept(before *judge.Hold, after uint64) {
	s.t.Helper()
	if left := s.hold(); left != nil {
		s.t.Errorf("the Lease of %s is still there: %+v", s.name, left)
	}
	want := *before
	want.Deleted = true
	eventually(s.t, "a watch shows that the Lease of "+s.name+" is deleted", func() error {
		history := s.history()
		i := slices.IndexFunc(history, func(f judge.Event) bool { return f.Hold != nil && f.Hold.Deleted })
		if i < 0 {
			return errors.New("it has not yet")
		}
		if end := history[i]; !reflect.DeepEqual(*end.Hold, want) || end.Version < after {
			s.t.Errorf("the Lease of %s contains %+v at its end, before %+v; it ends at version %d, lockstep at %d", s.name, end.Hold, before, end.Version, after)
		}
		return nil
	})
}

// hold returns the content of the Lease of the scene's group; nil if there is no Lease.
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

// uninstallationPage has the command that removes lockstep.
var uninstallationPage = filepath.Join(repository, "docs", "installation.md")

// uninstallation returns the page's only command. It uses the suite's kustomization instead of the
// overlay with webhooks.
func (w *world) uninstallation(t *testing.T) string {
	t.Helper()
	blocks := shellBlock.FindAllStringSubmatch(section(t, uninstallationPage, "Uninstall"), -1)
	if len(blocks) != 1 {
		t.Fatalf("%s has %d blocks of commands below Uninstall", uninstallationPage, len(blocks))
	}
	command, overlay := blocks[0][1], "-k manifests/overlays/webhooks "
	if strings.Count(command, overlay) != 1 || strings.Count(command, "\n") != strings.Count(command, "&&\n") {
		t.Fatalf("%s has not one command for the overlay with webhooks below Uninstall: %s", uninstallationPage, command)
	}
	return strings.Replace(command, overlay, "-k "+w.kustomization(t, manifests, images.Operator)+" ", 1)
}

// section returns a section of a page, by its heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(content), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no %s", page, heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// shellBlock is a block of commands in a page.
var shellBlock = regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n")

// types runs a command of the documentation in the root of the source tree.
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
