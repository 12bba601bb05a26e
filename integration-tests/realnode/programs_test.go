package realnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/debian"
)

func TestWhereThePackagesDoNotExistNoNodeCanRun(t *testing.T) {
	fromNowhere(t)
	if err := missingOf(t.Context(), nil, "absent"); !errors.Is(err, debian.ErrLacking) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("missing is %v", err)
	}
}

func TestLocalErrorsDoNotCountAsMissingPackages(t *testing.T) {
	fromNowhere(t)
	t.Setenv("XDG_CACHE_HOME", os.Args[0]) // not a folder
	if err := missingOf(t.Context(), nil, "absent"); err != nil {
		t.Errorf("missing is %v", err)
	}
}

// fromNowhere configures a source that has no packages.
func fromNowhere(t *testing.T) {
	t.Helper()
	if missing := debian.Missing(); missing != nil {
		t.Skipf("SKIPPED, NOT PROVED: %v", missing)
	}
	source := t.TempDir()
	sources, config := filepath.Join(source, "sources.list"), filepath.Join(source, "apt.conf")
	for file, content := range map[string]string{
		filepath.Join(source, "Packages"): "",
		sources:                           "deb [trusted=yes] file:" + source + " ./\n",
		config:                            fmt.Sprintf("Dir::Etc::SourceList %q;\nDir::Etc::SourceParts \"/dev/null\";\n", sources),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("APT_CONFIG", config)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}
