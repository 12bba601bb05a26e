package dashboard

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated files anew")

const file = "../../../manifests/monitoring/dashboard.json"

func TestTheDashboardIsUpToDate(t *testing.T) {
	text, err := JSON()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(committed) != string(text) {
		t.Errorf("%s is out of date, run make generate", file)
	}
}

// shown is the part of a dashboard that the tests read.
type shown struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr, RefID string }
	}
}

func TestPanelsHaveDistinctTitlesAndDoNotOverlap(t *testing.T) {
	text, err := JSON()
	if err != nil {
		t.Fatal(err)
	}
	var s shown
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	ids, titles, taken := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range s.Panels {
		if ids[p.ID] || titles[p.Title] {
			t.Errorf("panel %d, %q, exists twice", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		if p.GridPos.X+p.GridPos.W > across {
			t.Errorf("%q is beyond the edge", p.Title)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				place := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, is := taken[place]; is {
					t.Fatalf("%q lies over %q", p.Title, other)
				}
				taken[place] = p.Title
			}
		}
		if (len(p.Targets) == 0) != (p.Type == "row") {
			t.Errorf("%q has %d queries", p.Title, len(p.Targets))
		}
	}
}

// If a user selects a namespace and a group, the rows about groups show no others.
func TestRowsAboutGroupsFollowTheVariables(t *testing.T) {
	for _, r := range rows[:2] {
		for _, p := range r.panels {
			for _, q := range p.queries {
				if strings.Count(q.expr, "lockstep_") != strings.Count(q.expr, chosen) {
					t.Errorf("%s, %s: %s is about all groups", r.title, p.title, q.expr)
				}
			}
		}
	}
}

// Groups of two namespaces may have the same name.
func TestGroupsAreDistinguishedByNamespace(t *testing.T) {
	aggregates := regexp.MustCompile(`\bby \(([^)]*)\)`)
	for _, r := range rows {
		for _, p := range r.panels {
			for _, q := range p.queries {
				if strings.Contains(q.legend, "{{group}}") && !strings.Contains(q.legend, "{{namespace}}/{{group}}") {
					t.Errorf("%s, %s: the legend %s names no namespace", r.title, p.title, q.legend)
				}
				for _, by := range aggregates.FindAllStringSubmatch(q.expr, -1) {
					labels := strings.Split(by[1], ", ")
					if slices.Contains(labels, "group") && !slices.Contains(labels, "namespace") {
						t.Errorf("%s, %s: %s puts namespaces together", r.title, p.title, q.expr)
					}
				}
			}
		}
	}
}
