package mutants_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/proof/mutants"
)

// Every change runs this test, so a mutant that refers to a removed identifier is
// detected without make mutants. The test type-checks the mutant's packages and does not
// build them.
func TestEveryMutantCompiles(t *testing.T) {
	all := map[string]bool{}
	for _, m := range mutants.All() {
		for _, e := range m.Edits {
			all["./"+filepath.Dir(e.File)] = true
		}
	}
	built := build(t, slices.Sorted(maps.Keys(all)))
	for _, m := range mutants.All() {
		t.Run(m.Name, func(t *testing.T) {
			instead := overlay(t, m)
			for _, folder := range foldersOf(m) {
				if err := built.check(folder, instead); err != nil {
					t.Errorf("%s with this mistake in it: %v", folder, err)
				}
			}
		})
	}
}

func TestAMutantWithAnUndefinedNameDoesNotCompile(t *testing.T) {
	original, err := filepath.Abs("mutants.go")
	if err != nil {
		t.Fatal(err)
	}
	mutated := filepath.Join(t.TempDir(), "mutants.go")
	write(t, mutated, read(t, original)+"\nvar _ = nobody\n")
	built := build(t, []string{"./internal/proof/mutants"})
	if err := built.check("internal/proof/mutants", nil); err != nil {
		t.Errorf("without a mistake: %v", err)
	}
	if err := built.check("internal/proof/mutants", map[string]string{original: mutated}); err == nil || !strings.Contains(err.Error(), "undefined: nobody") {
		t.Errorf("with one: %v", err)
	}
}

// foldersOf returns the folders of the packages that a mutant changes.
func foldersOf(m mutants.Mutant) []string {
	folders := map[string]bool{}
	for _, e := range m.Edits {
		folders[filepath.Dir(e.File)] = true
	}
	return slices.Sorted(maps.Keys(folders))
}

// compiled has packages, and the export data of their dependencies.
type compiled struct {
	packages map[string]listed // by folder
	exports  map[string]string // by import path: file
	imported types.Importer
	files    *token.FileSet
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// build compiles the packages of these folders and their dependencies.
func build(t *testing.T, folders []string) *compiled {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, folders...)...)
	list.Dir, list.Stderr = root, os.Stderr // which says what is downloaded
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	c := &compiled{packages: map[string]listed{}, exports: map[string]string{}, files: token.NewFileSet()}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		c.exports[p.ImportPath] = p.Export
		if folder, err := filepath.Rel(module, p.Dir); err == nil {
			c.packages[folder] = p
		}
	}
	c.imported = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(c.exports[path]) })
	return c
}

// check type-checks the package with other files instead of its own and returns the first
// error.
func (c *compiled) check(folder string, instead map[string]string) error {
	p := c.packages[folder]
	for original := range instead {
		if filepath.Dir(original) == p.Dir && !slices.Contains(p.GoFiles, filepath.Base(original)) {
			return fmt.Errorf("%s is not compiled", original)
		}
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file := filepath.Join(p.Dir, name)
		if other := instead[file]; other != "" {
			file = other
		}
		parsed, err := parser.ParseFile(c.files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, parsed)
	}
	_, err := (&types.Config{Importer: c.imported}).Check(p.ImportPath, c.files, files, nil)
	return err
}
