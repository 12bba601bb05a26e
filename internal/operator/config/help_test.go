package config_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/operator/config"
)

var update = flag.Bool("update", false, "rewrite golden files and docs/configuration.md")

func TestDescriptionsAreUpToDate(t *testing.T) {
	for file, got := range map[string]string{
		"testdata/help.txt":              config.Help(),
		"../../../docs/configuration.md": config.Markdown(),
	} {
		t.Run(file, func(t *testing.T) {
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; go test ./internal/operator/config -update writes it", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("go test ./internal/operator/config -update rewrites it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHelpFitsATerminal(t *testing.T) {
	for line := range strings.Lines(config.Help()) {
		if len(line) > 111 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func sortedLines(lines []string) []string { return slices.Sorted(slices.Values(lines)) }
