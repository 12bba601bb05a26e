package house_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decisions is the folder with one page for each decision.
const decisions = root + "docs/adr"

func TestEveryDecisionIsListedByNumberAndTitle(t *testing.T) {
	pages, err := filepath.Glob(decisions + "/[0-9]*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no page of a decision is found: %v", err)
	}
	var want []string
	for _, page := range pages {
		title, _, _ := strings.Cut(strings.TrimPrefix(read(t, page), "# "), "\n")
		number, sentence, _ := strings.Cut(title, ". ")
		want = append(want, number+". ["+sentence+"]("+filepath.Base(page)+")")
	}
	got := regexp.MustCompile(`(?m)^\d+\. .*$`).FindAllString(read(t, decisions+"/README.md"), -1)
	if !slices.Equal(got, want) {
		t.Errorf("docs/adr/README.md lists\n%s\nand has to list\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
