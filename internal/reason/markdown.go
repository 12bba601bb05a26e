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
		if e.Runbook() != "" {
			fmt.Fprintf(&b, "\nMore: [runbooks/%s.md](runbooks/%s.md)\n", e.Code, e.Code)
		}
	}
	return b.String()
}

func capital(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }
