package house_test

import (
	"os"
	"strings"
	"testing"
)

// The suites start binaries and share only libraries with the operator. They use the
// operator's versions of these libraries. So tests run the versions that are shipped, and
// a new machine compiles each library once.
func TestTheSuitesUseTheOperatorsVersions(t *testing.T) {
	ours, theirs := requirements(t, root+"go.mod"), requirements(t, root+"integration-tests/go.mod")
	shared := 0
	for module, version := range theirs {
		if wanted, known := ours[module]; known {
			shared++
			if version != wanted {
				t.Errorf("integration-tests/go.mod has %s %s, the operator %s: cd integration-tests && go get %s@%s",
					module, version, wanted, module, wanted)
			}
		}
	}
	if shared == 0 {
		t.Error("no module is shared: the files are not read as they should be")
	}
}

// requirements returns the versions that a go.mod file requires.
func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.Contains(fields[0], ".") && strings.HasPrefix(fields[1], "v") {
			versions[fields[0]] = fields[1]
		}
	}
	return versions
}

// The README describes every folder of the suites to its readers.
func TestEveryFolderOfTheSuitesHasARow(t *testing.T) {
	const folder = root + "integration-tests"
	index, err := os.ReadFile(folder + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && !strings.Contains(string(index), "`"+entry.Name()+"`") {
			t.Errorf("integration-tests/README.md does not say what %s is", entry.Name())
		}
	}
}
