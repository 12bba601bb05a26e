package mutants_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/proof/mutants"
)

// root is the root of the module, relative to this folder.
const root = "../../.."

// Every mutant on the list must be detected by its own test.
func TestMutants(t *testing.T) {
	wanted := os.Getenv("LOCKSTEP_MUTANTS")
	if wanted == "" {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_MUTANTS=all, or a part of a name, to plant mutants (make mutants)")
	}
	var chosen []mutants.Mutant
	width := 0
	for _, m := range mutants.All() {
		if wanted == "all" || strings.Contains(m.Name, wanted) {
			chosen = append(chosen, m)
			width = max(width, len(m.Name))
		}
	}
	if len(chosen) == 0 {
		t.Fatalf("no mutant is called %q", wanted)
	}
	row := func(name, seconds, caught string) {
		fmt.Fprintf(os.Stdout, "%-*s  %7s  %s\n", width, name, seconds, caught)
	}
	row("mutant", "seconds", "caught by")
	began := time.Now()
	var caught atomic.Int32
	t.Cleanup(func() {
		row(fmt.Sprintf("%d mutants", len(chosen)), seconds(began), fmt.Sprintf("%d caught", caught.Load()))
	})
	for _, m := range chosen {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel() // compiling uses all cores, linking one
			began := time.Now()
			says := m.Rule + " in " + m.Test
			if err := plant(t, m); err != nil {
				says = "NOT CAUGHT by " + m.Test
				t.Error(err)
			} else {
				caught.Add(1)
			}
			if m.Remark != "" {
				says += " (" + m.Remark + ")"
			}
			row(m.Name, seconds(began), says)
		})
	}
}

func seconds(since time.Time) string {
	return strconv.FormatFloat(time.Since(since).Seconds(), 'f', 1, 64)
}

// plant builds the mutant's test with the mistake in the sources and runs it.
func plant(t *testing.T, m mutants.Mutant) error {
	t.Helper()
	folder, name, _ := strings.Cut(m.Test, " ")
	binary := filepath.Join(t.TempDir(), "mutant.test")
	if out, err := command(t.Context(), root, "go", "test", "-c", "-ldflags=-w", "-overlay", overlayFile(t, m), "-o", binary, "./"+folder); err != nil {
		return fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	out, err := command(t.Context(), filepath.Join(root, folder), binary, "-test.v", "-test.timeout=10m", "-test.run", pattern(name))
	return judge(m, name, out, err)
}

func command(ctx context.Context, folder, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = folder
	c.Env = append(os.Environ(), "LOCKSTEP_EXPLORE=full")
	out, err := c.CombinedOutput()
	return string(out), err
}

// overlayFile writes the JSON file that makes the compiler read the mutated sources.
func overlayFile(t *testing.T, m mutants.Mutant) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": overlay(t, m)})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	write(t, file, string(text))
	return file
}

// overlay writes the sources with the mistake. It returns the path of each written file
// by the path of its original.
func overlay(t *testing.T, m mutants.Mutant) map[string]string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for i, e := range m.Edits {
		original, err := filepath.Abs(filepath.Join(root, e.File))
		if err != nil {
			t.Fatal(err)
		}
		if replace[original] == "" {
			replace[original] = filepath.Join(dir, strconv.Itoa(i)+".go")
			write(t, replace[original], read(t, original))
		}
		text := read(t, replace[original])
		if strings.Count(text, e.Old) != 1 {
			t.Fatalf("%q does not occur once in %s", e.Old, e.File)
		}
		write(t, replace[original], strings.Replace(text, e.Old, e.New, 1))
	}
	return replace
}

// pattern returns the -test.run pattern that matches exactly the named test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(underscored(part)) + "$"
	}
	return strings.Join(parts, "/")
}

func underscored(name string) string { return strings.ReplaceAll(name, " ", "_") }

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// judge returns why a mutant does not count as caught, or nil.
func judge(m mutants.Mutant, name, out string, err error) error {
	name = underscored(name)
	if err == nil {
		return fmt.Errorf("it survives %s", m.Test)
	}
	if strings.Contains(out, "\npanic: ") {
		return fmt.Errorf("it makes %s crash, which notices nothing:\n%s", m.Test, tail(out))
	}
	noticed := false
	for _, match := range failed.FindAllStringSubmatch(out, -1) {
		noticed = noticed || match[1] == name
		if !strings.HasPrefix(match[1]+"/", name+"/") && !strings.HasPrefix(name+"/", match[1]+"/") {
			return fmt.Errorf("it is caught by %s instead of %s", match[1], m.Test)
		}
	}
	switch {
	case !noticed:
		return fmt.Errorf("%s did not fail: %w\n%s", m.Test, err, tail(out))
	case !strings.Contains(out, m.Rule):
		return fmt.Errorf("%s fails and does not name %q:\n%s", m.Test, m.Rule, tail(out))
	}
	return nil
}

func tail(out string) string { return out[max(0, len(out)-4000):] }

// The runner must reject results that are no proof.
func TestResultsThatDoNotCountAsCaught(t *testing.T) {
	m := mutants.Mutant{Name: "odd", Test: "internal/plan/group TestX/a case", Rule: "WithinBudget"}
	exit := errors.New("exit status 1")
	for sentence, tc := range map[string]struct {
		out  string
		err  error
		want string
	}{
		"caught":                     {"--- FAIL: TestX (0.1s)\n    --- FAIL: TestX/a_case (0.1s)\n WithinBudget: 2 down", exit, ""},
		"caught in a part of it":     {"--- FAIL: TestX/a_case (0.1s)\n --- FAIL: TestX/a_case/too (0.1s)\n WithinBudget: 2", exit, ""},
		"a test that passes":         {"PASS", nil, "it survives"},
		"a test that does not exist": {"testing: warning: no tests to run\nPASS", nil, "it survives"},
		"another rule":               {"--- FAIL: TestX/a_case (0.1s)\n OtherZonesAvailable", exit, `does not name "WithinBudget"`},
		"another test":               {"--- FAIL: TestX/a_case (0.1s)\n --- FAIL: TestX/b (0.1s)\n WithinBudget", exit, "caught by TestX/b"},
		"a crash":                    {"--- FAIL: TestX/a_case (0.1s)\n WithinBudget\npanic: oh", exit, "crash"},
		"an end before the test":     {"signal: killed WithinBudget", exit, "did not fail"},
		"its parent without itself":  {"--- FAIL: TestX (0.1s)\n WithinBudget", exit, "did not fail"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, name, _ := strings.Cut(m.Test, " ")
			err := judge(m, name, tc.out, tc.err)
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// Every change checks the requirements of make mutants: the text that a mutant replaces
// exists, and so does its test.
func TestEveryMutantCanBePlanted(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants.All() {
		t.Run(m.Name, func(t *testing.T) {
			if names[m.Name] {
				t.Error("another mutant has the same name")
			}
			names[m.Name] = true
			overlay(t, m) // fails for a text that does not occur exactly once
			if m.Rule == "" {
				t.Error("it does not say by which rule it is noticed")
			}
			folder, name, _ := strings.Cut(m.Test, " ")
			if missing := missingPart(t, filepath.Join(root, folder), name); missing != "" {
				t.Errorf("%s: there is no %s", m.Test, missing)
			}
		})
	}
}

// missingPart returns the part of a test's name that is missing in the folder: a
// function, or the name of a case, which is a string in a test or a file in testdata.
func missingPart(t *testing.T, folder, test string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find tests in %s: %v", folder, err)
	}
	var sources strings.Builder
	for _, file := range files {
		sources.WriteString(read(t, file))
	}
	parts := strings.Split(test, "/")
	if !strings.Contains(sources.String(), "\nfunc "+parts[0]+"(") {
		return parts[0]
	}
	for _, part := range parts[1:] {
		inTestdata, err := filepath.Glob(filepath.Join(folder, "testdata", "*", part+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(sources.String(), strconv.Quote(part)) && len(inTestdata) == 0 {
			return part
		}
	}
	return ""
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
