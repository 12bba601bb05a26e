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

const (
	guarantees = "../docs/guarantees.md"
	matrix     = "../docs/webhooks.md"
)

var testName = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")

// What these pages say of tests is true as long as the tests they name exist,
// here or in the suites.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	exists := testNames(t)
	for _, page := range []string{guarantees, matrix} {
		named := testName.FindAllStringSubmatch(read(t, page), -1)
		if len(named) == 0 {
			t.Fatalf("%s names no tests", page)
		}
		for _, match := range named {
			if !exists[match[1]] {
				t.Errorf("%s names %s, which does not exist", page, match[1])
			}
		}
	}
}

// A cell without a test is a claim.
func TestTheMatrixNamesATestInEveryCell(t *testing.T) {
	for _, row := range []string{"API server slow", "operator away", "no leader", "cache not synced", "certificate expired"} {
		_, text, found := strings.Cut(read(t, matrix), "\n| "+row+" |")
		if !found {
			t.Fatalf("%s has no row %q", matrix, row)
		}
		for i, column := range []string{"rollout", "downscale", "eviction"} {
			if cell := strings.Split(text, "|")[i]; !testName.MatchString(cell) {
				t.Errorf("%s, %s: no test in %q", row, column, cell)
			}
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
