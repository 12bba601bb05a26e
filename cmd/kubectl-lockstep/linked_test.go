package main

import (
	"os/exec"
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
	if len(linked) == 0 {
		t.Fatal("nothing is linked: was anything read?")
	}
	for _, path := range linked {
		for _, no := range []string{"testing", "pgregory.net/rapid", house + "operator", house + "act", house + "admission", house + "server", house + "hook", house + "fixture/draw", house + "sim"} {
			if path == no || strings.HasPrefix(path, no+"/") {
				t.Errorf("%s is linked", path)
			}
		}
	}
}
