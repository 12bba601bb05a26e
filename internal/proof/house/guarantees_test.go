package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
)

const (
	guarantees = root + "docs/guarantees.md"
	matrix     = root + "docs/webhooks.md"
	found      = root + "docs/reliability.md"
)

var (
	testName = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	promise  = regexp.MustCompile(`(?m)^([0-9]+)\. \*\*(.+?)\.\*\*`)
)

// The statements of these pages about tests require that the named tests exist, here or
// in the suites.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	exists := testNames(t)
	for _, page := range []string{guarantees, matrix, found} {
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

// A cell without a test would be a claim without proof.
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

// The judges and the rules refer to the guarantees by their numbers.
func TestEachOfTenPromisesIsShownUnderItsNumberAndName(t *testing.T) {
	promised, shown := promise.FindAllStringSubmatch(read(t, guarantees), -1), proofs(t)
	if len(promised) != 10 || len(shown) != 10 {
		t.Fatalf("%s makes %d promises and shows %d, want 10", guarantees, len(promised), len(shown))
	}
	for i, match := range promised {
		if number := strconv.Itoa(i + 1); match[1] != number || shown[i].heading != number+". "+match[2] {
			t.Errorf("promise %s, %q, is shown under %q", match[1], match[2], shown[i].heading)
		}
	}
}

func TestEachPromiseNamesItsRulesAndNoOthers(t *testing.T) {
	for i, p := range proofs(t) {
		for _, rule := range invariant.Rules() {
			if named, its := strings.Contains(p.text, "`"+rule.Name+"`"), rule.Guarantee == i+1; named != its {
				t.Errorf("%s, %s: names the rule %s: %t, want %t", guarantees, p.heading, rule.Name, named, its)
			}
		}
	}
}

func TestEachPromiseAboutStatefulClustersNamesItsRulesAndNoOthers(t *testing.T) {
	_, table, found := strings.Cut(read(t, guarantees), "\n| promise | how it is shown |\n|---|---|\n")
	if !found {
		t.Fatalf("%s has no table of promises about StatefulClusters", guarantees)
	}
	rows, _, _ := strings.Cut(table, "\n\n")
	shown := map[string]int{}
	for row := range strings.Lines(rows) {
		for _, rule := range pools.Rules() {
			named, its := strings.Contains(row, "`"+rule.Name+"`"), strings.Contains(row, "**"+rule.Promise+".**")
			if named != its {
				t.Errorf("%s, %s: names the rule %s: %t, want %t", guarantees, row, rule.Name, named, its)
			}
			if named {
				shown[rule.Name]++
			}
		}
	}
	for _, rule := range pools.Rules() {
		if shown[rule.Name] != 1 {
			t.Errorf("%s shows the rule %s of the promise %q %d times", guarantees, rule.Name, rule.Promise, shown[rule.Name])
		}
	}
}

func TestEachGuaranteeNamesATestForEachEvent(t *testing.T) {
	for _, p := range proofs(t) {
		_, table, found := strings.Cut(p.text, "\n| when | tests |\n|---|---|\n")
		if !found {
			t.Errorf("%s, %s: no table of tests", guarantees, p.heading)
			continue
		}
		rows, _, _ := strings.Cut(table, "\n\n")
		for row := range strings.Lines(rows) {
			if !testName.MatchString(row) {
				t.Errorf("%s, %s: no test in %q", guarantees, p.heading, row)
			}
		}
	}
}

// A proof is the section of the page about one guarantee.
type proof struct{ heading, text string }

// proofs returns the sections about single guarantees, in their order.
func proofs(t *testing.T) []proof {
	t.Helper()
	var all []proof
	for _, section := range strings.Split(read(t, guarantees), "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		heading, text, _ := strings.Cut(section, "\n")
		all = append(all, proof{heading, text})
	}
	return all
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
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
