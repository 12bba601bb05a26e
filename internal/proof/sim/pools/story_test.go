package pools_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/proof/sim/pools"
)

var update = flag.Bool("update", false, "write the current stories into testdata")

// Every file in testdata/stories is one story. It says what it shows, what happens, and what Kubernetes and lockstep do.
func TestStoriesGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("find stories: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pools.Tell(string(want))
			if err != nil {
				t.Errorf("%v after\n%s", err, got)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("another story (-want +got)\n%s", diff)
			}
		})
	}
}
