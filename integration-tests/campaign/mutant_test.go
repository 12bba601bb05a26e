package main

import (
	"encoding/json"
	"os"
	"testing"
)

func TestEveryMutantApplies(t *testing.T) {
	t.Chdir("..") // the working directory of the campaign
	for _, m := range mutants {
		path, err := m.overlay(t.TempDir())
		if err != nil {
			t.Error(err)
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var overlay struct{ Replace map[string]string }
		if err := json.Unmarshal(text, &overlay); err != nil || len(overlay.Replace) == 0 {
			t.Errorf("%s: overlay is %q, %v", m.name, text, err)
		}
		for original, replaced := range overlay.Replace {
			before, errBefore := os.ReadFile(original)
			after, errAfter := os.ReadFile(replaced)
			if errBefore != nil || errAfter != nil || string(before) == string(after) {
				t.Errorf("%s does not change %s: %v, %v", m.name, original, errBefore, errAfter)
			}
		}
	}
}

func TestUnknownMutantIsNotBuilt(t *testing.T) {
	t.Parallel()
	if _, err := buildMutant(t.Context(), "unknown", t.TempDir()); err == nil {
		t.Error("it was built")
	}
}
