package internal_test

import (
	"encoding/json"
	"errors"
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
)

// askable are the functions of the house that internal/lock/invariant may call. They read and
// write names, and decide nothing. A mistake in any other one would be shared by the planner
// and its judge, so no rule would object.
var askable = []string{
	"internal/plan.Labels.Map", // the only way to read them
	"internal/plan.OrdinalOf",
	"internal/plan.PodName",
}

func TestInvariantsCallNoFunctionOfThePlanner(t *testing.T) {
	called := callsOf(t, "internal/lock/invariant")
	for name, where := range called {
		if !slices.Contains(askable, name) {
			t.Errorf("%s uses %s: write in internal/lock/invariant what docs/guarantees.md says of it instead", where, name)
		}
	}
	for _, name := range askable {
		if called[name] == "" {
			t.Errorf("internal/lock/invariant does not use %s: take it out of askable in internal/independence_test.go", name)
		}
	}
}

// What reads the calls finds functions, methods, methods of embedded types and generic
// functions.
func TestCallsOfThePlannerAreFound(t *testing.T) {
	called := callsOf(t, "internal/lock/hold")
	for _, name := range []string{"internal/plan.Only", "internal/plan.Snapshot.Fate", "internal/plan.Holder.Foreign", "internal/plan.Operation.For"} {
		if called[name] == "" {
			t.Errorf("%s is not among what internal/lock/hold uses: %v", name, slices.Sorted(maps.Keys(called)))
		}
	}
}

// callsOf returns the functions, methods and variables of other packages of the house that
// a package uses, with a place where it does. Those that fmt calls to write a value as text
// are not among them.
func callsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, p, exports := token.NewFileSet(), listed{}, map[string]string{}
	for _, each := range list(t, folder) {
		exports[each.ImportPath] = each.Export
		if each.ImportPath == module+folder {
			p = each
		}
	}
	var sources []*ast.File
	for _, name := range p.GoFiles {
		source, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, source)
	}
	compiled := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: importer.ForCompiler(files, "gc", compiled)}).Check(p.ImportPath, files, sources, info); err != nil {
		t.Fatal(err)
	}
	called := map[string]string{}
	for ident, used := range info.Uses {
		if name := calledName(used); name != "" && used.Pkg().Path() != p.ImportPath {
			called[name] = filepath.Base(files.Position(ident.Pos()).String())
		}
	}
	return called
}

// calledName names what is no mere data: a function or method of the house, or a variable
// of one of its packages. The empty name is anything else.
func calledName(used types.Object) string {
	if used.Pkg() == nil || !strings.HasPrefix(used.Pkg().Path(), module) {
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

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// list returns a package and all that it imports, compiled.
func list(t *testing.T, folder string) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "../"+folder).Output()
	if err != nil {
		t.Fatalf("list %s: %v", folder, err)
	}
	var all []listed
	for packages := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
