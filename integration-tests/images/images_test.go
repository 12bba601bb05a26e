package images_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/flock"
	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

func TestRemainsOfAKilledRunAreRemovedByTheNextRun(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	if err := os.MkdirAll(filepath.Join(into, ".building", "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := images.Write(t.Context(), "../..", into, images.Pause); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(into); err != nil || len(left) != 1 || left[0].Name() != "pause-e2e.tar" {
		t.Errorf("in the folder are %v, %v", left, err)
	}
}

func TestOneProcessAtATimeWritesImagesToAFolder(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	lock, err := flock.Try(into)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := images.Write(t.Context(), "../..", into, images.Pause); !errors.Is(err, flock.ErrTaken) {
		t.Errorf("the second one gets %v", err)
	}
}

func TestManifestsOfTheFormerCommitComeFromAnotherUsersClone(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, NOT PROVED: only root can change the owner of a clone")
	}
	clone, into := filepath.Join(t.TempDir(), "clone"), t.TempDir()
	for _, args := range [][]string{
		{"git", "-c", "safe.directory=*", "clone", "--quiet", "--shared", "../..", clone},
		{"chown", "--recursive", "65534", clone},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	if err := images.FormerManifests(t.Context(), clone, into); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(into, "manifests", "overlays", "webhooks", "kustomization.yaml")); err != nil {
		t.Error(err)
	}
}
