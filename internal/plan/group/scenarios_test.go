package group_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

var update = flag.Bool("update", false, "write the current plans into testdata")

// Every file in testdata/scenarios is one guarantee. Its name and its first line
// describe the guarantee. The lines after "then" are the plan and the change of the
// hold.
func TestScenariosGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("find scenarios: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text := read(t, file)
			scenario, err := fixture.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if !strings.HasSuffix(scenario.Promise, ".") {
				t.Errorf("%s: the first line is not a sentence: %q", file, scenario.Promise)
			}
			mustBeSafe(t, scenario.Snapshot)
			got := fixture.Outcome(scenario.Snapshot)
			if *update {
				write(t, file, fixture.WithThen(text, got))
				return
			}
			if diff := cmp.Diff(scenario.Then, got); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s\ngot\n%s", scenario.Promise, diff, strings.Join(got, "\n"))
			}
		})
	}
}

// mustBeSafe checks the invariants of a plan from the snapshot as if read live, so that
// no live read is required between plan and act.
func mustBeSafe(t interface {
	Helper()
	Errorf(string, ...any)
}, s group.Snapshot) {
	t.Helper()
	s.Live = true
	steps := group.Plan(s)
	if v := invariant.Check(s, steps, hold.Decide(&s, steps)); v != nil {
		t.Errorf("%v\n%s\n%s", v, fixture.PrintSnapshot(s), plan.Notation(steps))
	}
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
