package pool_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the current plans into testdata")

// Every file in testdata/scenarios is one guarantee. Its first line describes the guarantee. The lines after "then" are
// the plan and the change of the hold.
func TestScenariosGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("find scenarios: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parse(string(text))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if !strings.HasSuffix(s.promise, ".") {
				t.Errorf("%s: the first line is not a sentence: %q", file, s.promise)
			}
			got := outcome(s.snapshot)
			if strings.Contains(got, "  breaks ") {
				t.Errorf("the plan breaks a rule:\n%s", got)
			}
			if *update {
				given, _, _ := strings.Cut(string(text), "\nthen\n")
				if err := os.WriteFile(file, []byte(strings.TrimRight(given, "\n")+"\nthen\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(s.then, got); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s\ngot\n%s", s.promise, diff, got)
			}
		})
	}
}
