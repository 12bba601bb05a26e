package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// text/template calls methods by their names. Therefore the linker keeps every method of every
// type, and the program is nearly twice as large, on disk and in memory. gRPC uses text/template
// for debugging pages unless the tag is set.
func TestNothingMakesTheLinkerKeepEveryMethod(t *testing.T) {
	const tag = "grpcnotrace"
	list, err := exec.CommandContext(t.Context(), "go", "list", "-tags", tag, "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(list))
	for _, template := range []string{"text/template", "html/template"} {
		if slices.Contains(linked, template) {
			t.Errorf("%s is linked: go list -tags %s -deps -f '{{.ImportPath}} {{.Imports}}' ./cmd/lockstep shows the packages that import it", template, tag)
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(makefile), "build -tags "+tag+" ") {
		t.Errorf("make build does not set the tag %s", tag)
	}
}
