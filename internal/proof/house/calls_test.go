package house_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// calls are the functions, methods and variables of other packages that a package uses,
// each with a position of a use. The keys are names such as "time.Now",
// "internal/plan/group.Snapshot.Zone" and
// "k8s.io/client-go/kubernetes/typed/core/v1.PodInterface.Delete". Methods that fmt calls
// to format a value are not included.
type calls map[string]string

var known = map[string]calls{} // by folder; tests of this package run one after another

// callsOf returns the calls of a folder of this module.
func callsOf(t *testing.T, folder string) calls {
	t.Helper()
	if known[folder] == nil {
		known[folder] = readCalls(t, folder)
	}
	return known[folder]
}

func readCalls(t *testing.T, folder string) calls {
	t.Helper()
	files := token.NewFileSet()
	p, exists := compiled(t)[module+folder]
	if !exists {
		t.Fatalf("%s has no package", folder)
	}
	var sources []*ast.File
	for _, name := range p.GoFiles {
		source, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, source)
	}
	export := func(path string) (io.ReadCloser, error) { return os.Open(compiled(t)[path].Export) }
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: importer.ForCompiler(files, "gc", export)}).Check(p.ImportPath, files, sources, info); err != nil {
		t.Fatal(err)
	}
	read := calls{}
	for ident, used := range info.Uses {
		if name := calledName(used); name != "" && used.Pkg().Path() != p.ImportPath {
			read[name] = filepath.Base(files.Position(ident.Pos()).String())
		}
	}
	return read
}

// calledName returns the name of a function, a method or a variable of a package, and ""
// for any other object.
func calledName(used types.Object) string {
	if used.Pkg() == nil {
		return ""
	}
	name := strings.TrimPrefix(used.Pkg().Path(), module) + "."
	switch used := used.(type) {
	case *types.Func:
		return name + receiverOf(used) + used.Name()
	case *types.Var:
		if used.Parent() == used.Pkg().Scope() {
			return name + used.Name()
		}
	}
	return ""
}

func receiverOf(f *types.Func) string {
	receiver := f.Signature().Recv()
	if receiver == nil {
		return ""
	}
	of := receiver.Type()
	if pointer, is := of.(*types.Pointer); is {
		of = pointer.Elem()
	}
	if named, is := of.(*types.Named); is {
		return named.Obj().Name() + "."
	}
	return ""
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

var packages struct {
	once sync.Once
	all  map[string]listed
	err  error
}

// compiled returns all packages below internal and their dependencies, by import path.
func compiled(t *testing.T) map[string]listed {
	t.Helper()
	packages.once.Do(func() {
		list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./internal/...")
		list.Dir = root
		out, err := list.Output()
		if err != nil {
			packages.err = err
			return
		}
		packages.all = map[string]listed{}
		for decoder := json.NewDecoder(strings.NewReader(string(out))); packages.err == nil; {
			var p listed
			if packages.err = decoder.Decode(&p); packages.err == nil {
				packages.all[p.ImportPath] = p
			}
		}
		if errors.Is(packages.err, io.EOF) {
			packages.err = nil
		}
	})
	if packages.err != nil {
		t.Fatalf("list the packages below internal: %v", packages.err)
	}
	return packages.all
}
