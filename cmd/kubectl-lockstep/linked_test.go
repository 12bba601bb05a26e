package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The plugin shares the observer and the planner with the operator, and the notation of snapshots
// with tests. It links no other parts of the operator or of tests.
func TestThePluginLinksNeitherTheOperatorNorTests(t *testing.T) {
	const house = "github.com/lockstep-dev/lockstep/internal/"
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(list))
	if !slices.Contains(linked, house+"plan") {
		t.Fatalf("go list does not show the planner: %v", linked)
	}
	forbidden := []string{"testing", "pgregory.net/rapid"}
	for _, room := range []string{"act", "control", "lock/freshness", "operator", "proof/fixture/draw", "proof/mutants", "proof/sim", "serve"} {
		if _, err := os.Stat("../../internal/" + room); err != nil {
			t.Errorf("this test names a room that does not exist: %v", err)
		}
		forbidden = append(forbidden, house+room)
	}
	for _, path := range linked {
		if slices.ContainsFunc(forbidden, func(no string) bool { return path == no || strings.HasPrefix(path, no+"/") }) {
			t.Errorf("%s is linked", path)
		}
	}
}
