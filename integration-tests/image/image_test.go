package image_test

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/lockstep-dev/lockstep/integration-tests/image"
)

func TestAnImageHasItsProgramItsFilesAndItsUser(t *testing.T) {
	t.Parallel()
	written := write(t, image.Image{
		Name: "store:v1", Program: file(t, "store", "a program", 0o755), User: "65532:65532",
		Files: map[string]string{"/etc/store.conf": file(t, "any", "a file", 0o600)},
	})
	config, err := written.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Config; len(got.Entrypoint) != 1 || got.Entrypoint[0] != "/store" || got.User != "65532:65532" {
		t.Errorf("it runs %q as %q", got.Entrypoint, got.User)
	}
	layers, err := written.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("it has %d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, tar.NewReader(content), map[string]string{"etc/store.conf": "a file", "store": "a program"}, map[string]int64{"etc/store.conf": 0o600, "store": 0o755})
}

func TestAnImageWithoutItsProgramIsNotWritten(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "image.tar")
	err := image.Image{Name: "store:v1", Program: "/does/not/exist"}.Write(to)
	if _, missing := os.Stat(to); err == nil || missing == nil {
		t.Errorf("written: %v, %v", err, missing)
	}
}

func write(t *testing.T, i image.Image) v1.Image {
	t.Helper()
	to := filepath.Join(t.TempDir(), "image.tar")
	if err := i.Write(to); err != nil {
		t.Fatal(err)
	}
	written, err := tarball.ImageFromPath(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func file(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantFile fails the test unless an archive contains exactly these files.
func wantFile(t *testing.T, archive *tar.Reader, contents map[string]string, modes map[string]int64) {
	t.Helper()
	seen := 0
	for {
		header, err := archive.Next()
		if err == io.EOF { //nolint:errorlint // as documented
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil || string(content) != contents[header.Name] || header.Mode != modes[header.Name] {
			t.Errorf("%s is %q with mode %o, %v", header.Name, content, header.Mode, err)
		}
		seen++
	}
	if seen != len(contents) {
		t.Errorf("there are %d files, want %d", seen, len(contents))
	}
}
