// Package image creates images of static programs, as files that container runtimes load, without a
// container engine and without a registry.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is an image with one layer and one static program.
type Image struct {
	// Name is the image name in pods, for example "lockstep:devel".
	Name string

	// Program is the path of the program that becomes the entry point. It has its own name in the
	// root of the image.
	Program string

	// Files are more files, from the path in the image to the path here.
	Files map[string]string

	// User is the user of the program, for example "65532:65532"; root if it is empty.
	User string
}

// Write writes the image to a file for "docker load" and "ctr images import".
func (i Image) Write(file string) error {
	tag, err := name.NewTag(i.Name)
	if err != nil {
		return fmt.Errorf("name image: %w", err)
	}
	built, err := i.build()
	if err != nil {
		return fmt.Errorf("make image %s: %w", i.Name, err)
	}
	if err := tarball.WriteToFile(file, tag, built); err != nil {
		return fmt.Errorf("write image %s: %w", i.Name, err)
	}
	return nil
}

func (i Image) build() (v1.Image, error) {
	content, err := i.layer()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
	if err != nil {
		return nil, err
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := built.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint = []string{i.entryPoint()}
	config.Config.User = i.User
	return mutate.ConfigFile(built, config)
}

func (i Image) entryPoint() string { return path.Join("/", filepath.Base(i.Program)) }

// layer returns the archive of all files.
func (i Image) layer() ([]byte, error) {
	files := map[string]string{i.entryPoint(): i.Program}
	maps.Copy(files, i.Files)
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if err := add(archive, file, files[file]); err != nil {
			return nil, err
		}
	}
	return content.Bytes(), archive.Close()
}

func add(archive *tar.Writer, file, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: strings.TrimPrefix(file, "/"), Mode: int64(info.Mode().Perm()), Size: int64(len(content))}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(content)
	return err
}
