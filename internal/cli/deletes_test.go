package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// taking are the methods of clients, and of the store of holds, that delete an object or evict a
// pod.
var taking = []string{"Delete", "DeleteCollection", "Evict", "EvictV1", "EvictV1beta1", "Remove"}

func TestNoCommandCanDeleteObjects(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("find sources: %v, %d files", err, len(files))
	}
	calls := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			selected, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			calls++
			if from, named := selected.X.(*ast.Ident); named && from.Name == "group" {
				return true // the planner of rollout groups only returns the answer to an eviction
			}
			if slices.Contains(taking, selected.Sel.Name) {
				t.Errorf("%s uses %s: kubectl lockstep deletes nothing", file, selected.Sel.Name)
			}
			return true
		})
	}
	if calls == 0 {
		t.Error("no call was read")
	}
}
