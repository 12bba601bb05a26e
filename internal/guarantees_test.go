package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/invariant"
)

const guarantees = "../docs/guarantees.md"

// What docs/guarantees.md says of tests is true as long as the tests it names
// exist, here or in the suites.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	exists := testNames(t)
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(read(t, guarantees), -1)
	if len(named) == 0 {
		t.Fatalf("%s names no tests", guarantees)
	}
	for _, match := range named {
		if !exists[match[1]] {
			t.Errorf("%s names %s, which does not exist", guarantees, match[1])
		}
	}
}

func TestGuaranteesNameEveryInvariant(t *testing.T) {
	text := read(t, guarantees)
	for _, rule := range invariant.Rules() {
		if !strings.Contains(text, "`"+rule.Name+"`") {
			t.Errorf("%s does not name the invariant %s", guarantees, rule.Name)
		}
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, match := range function.FindAllStringSubmatch(read(t, path), -1) {
			names[match[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
