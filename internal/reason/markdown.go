package reason

import (
	"fmt"
	"strings"
)

// Markdown returns docs/reasons.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Reasons\n\nEverything lockstep gives as a reason, in Events, logs, metrics, spans and messages alike.\n")
	b.WriteString("Generated from `internal/reason`; `make generate` writes it anew.\n")
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

func capital(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }

func listed(seen []Place) string {
	var names []string
	for _, place := range seen {
		name := string(place)
		if place != InBudgets {
			name = "`" + name + "`"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
