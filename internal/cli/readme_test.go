package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The README shows the output of its first command.
func TestReadmeShowsThePlanOfItsExample(t *testing.T) {
	const root = "../../"
	readme, err := os.ReadFile(root + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("go run ./cmd/kubectl-lockstep plan -f (\\S+)\n```\n\n```\n((?s:.+?))```\n").FindSubmatch(readme)
	if example == nil {
		t.Fatal("the README has no plan of a file, with what it prints below it")
	}
	inScene(t, nil, func(s *scene) {
		if got := s.succeeds("plan", "-f", root+string(example[1])); strings.TrimSpace(got) != strings.TrimSpace(string(example[2])) {
			s.Errorf("the README shows\n%sit prints\n%s", example[2], got)
		}
	})
}
