package main

import (
	"os"
	"strings"
	"testing"
)

// The operator does not link parts that only command-line users need.
func TestTheOperatorLinksNothingOfThePlugin(t *testing.T) {
	text, err := os.ReadFile("deps.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"github.com/spf13/cobra", "github.com/mattn/go-runewidth", "lockstep/internal/cli", "lockstep/internal/proof/fixture"} {
		if strings.Contains(string(text), module) {
			t.Errorf("%s is linked into the operator", module)
		}
	}
}
