package contract

import (
	"fmt"
	"strings"
)

// Markdown returns docs/contract.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# The contract: labels and annotations\n\n")
	b.WriteString("Generated from `internal/contract`; `make generate` writes it anew.\n\n")
	b.WriteString("| name | on | as | written by | value | absent | invalid |\n|---|---|---|---|---|---|---|\n")
	for _, w := range words {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", w.Name, w.On, w.As, w.Writer, w.Value, w.Absent, w.Invalid)
	}
	b.WriteString("\nThe Lease of a group is named `lockstep-group-<group>`, or `lockstep-group.<hash>` where the group's name cannot be part of an object name; that of a StatefulSet without a group, whose pods are prepared, `lockstep-statefulset-<name>`; that of StatefulSets without a group, whose pods a ZoneAwarePodDisruptionBudget covers, `lockstep-budget-<name>`.\n")
	return b.String()
}
