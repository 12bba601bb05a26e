package reason

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown returns docs/reasons.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Reasons\n\nEverything lockstep gives as a reason, in Events, logs, metrics, spans and messages alike.\n")
	b.WriteString("Generated from `internal/plan/reason`; `make generate` writes it again.\n")
	b.WriteString("\n| kind | means | reasons |\n|---|---|---|\n")
	for _, k := range []Kind{Outcome, Wait, Attention} {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", k, meanings[k], strings.Join(links(k), ", "))
	}
	for _, e := range catalogue {
		fmt.Fprintf(&b, "\n## %s\n\n%s, %s. %s.\n\nWhat to do: %s\n", e.Code, e.ID(), e.Kind, capital(e.Sentence), e.ToDo)
		if seen := e.Seen(); len(seen) > 0 {
			fmt.Fprintf(&b, "\nSeen in %s.\n", listed(seen))
		}
		if e.Runbook() != "" {
			fmt.Fprintf(&b, "\nMore: [runbooks/%s.md](runbooks/%s.md)\n", e.Code, e.Code)
		}
	}
	return b.String()
}

var meanings = map[Kind]string{
	Outcome:   "says what was done or allowed, or that nothing is wrong; LS-001 to LS-099",
	Wait:      "ends by itself; LS-101 to LS-199",
	Attention: "lasts until a person changes something; LS-201 to LS-299",
}

// links returns the reasons of a kind, each with a link to its section of the page.
func links(k Kind) []string {
	var all []string
	for _, e := range catalogue {
		if e.Kind == k {
			all = append(all, fmt.Sprintf("[%s](#%s)", e.Code, strings.ToLower(string(e.Code))))
		}
	}
	return all
}

func capital(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }

func listed(seen []Surface) string {
	var names []string
	for _, place := range seen {
		name := string(place)
		if !slices.Contains([]Surface{InBudgets, InPools, InStatus}, place) {
			name = "`" + name + "`"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
