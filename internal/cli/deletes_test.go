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

// deleting are the only methods that may be used, by the file that uses them: claims --delete deletes claims.
var deleting = map[string][]string{"claims_delete.go": {"Delete"}}

// planners are the packages and values that only return the answer to an eviction.
var planners = []string{"group", "outlook"}

func TestCommandsDeleteNothingButClaims(t *testing.T) {
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
			if from, named := selected.X.(*ast.Ident); named && slices.Contains(planners, from.Name) {
				return true
			}
			of := ""
			if client, called := selected.X.(*ast.CallExpr); called {
				of = calledMethod(client)
			}
			allowed := of == "PersistentVolumeClaims" && slices.Contains(deleting[file], selected.Sel.Name)
			if slices.Contains(taking, selected.Sel.Name) && !allowed {
				t.Errorf("%s uses %s of %s: kubectl lockstep deletes only claims", file, selected.Sel.Name, of)
			}
			return true
		})
	}
	if calls == 0 {
		t.Error("no call was read")
	}
}

func calledMethod(call *ast.CallExpr) string {
	if selected, is := call.Fun.(*ast.SelectorExpr); is {
		return selected.Sel.Name
	}
	return ""
}
