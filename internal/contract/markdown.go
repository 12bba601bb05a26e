package contract

import (
	"fmt"
	"strings"
)

// Markdown returns docs/contract.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# The contract: labels and annotations\n\n")
	b.WriteString("Generated from `internal/contract`; `make generate` updates it.\n\n")
	for _, part := range []struct{ writer, title string }{
		{you, "What you set"},
		{us, "What lockstep writes"},
		{k8s, "What Kubernetes writes"},
	} {
		fmt.Fprintf(&b, "## %s\n\n%s\n", part.title, table(part.writer))
	}
	b.WriteString("## Names of Leases\n\n| Lease of | name |\n|---|---|\n")
	b.WriteString("| a group | `lockstep-group-<group>`, or `lockstep-group.<hash>` if the group's name cannot be part of an object name |\n")
	b.WriteString("| a StatefulSet without a group whose pods are prepared for downscales | `lockstep-statefulset-<name>` |\n")
	b.WriteString("| StatefulSets without a group whose pods a ZoneAwarePodDisruptionBudget covers | `lockstep-budget-<name>` |\n")
	return b.String()
}

// table returns the table of the names that writer writes.
func table(writer string) string {
	var b strings.Builder
	b.WriteString("| name | where | value | absent | invalid |\n|---|---|---|---|---|\n")
	for _, w := range words {
		if w.Writer == writer {
			fmt.Fprintf(&b, "| `%s` | %s on %s | %s | %s | %s |\n", w.Name, w.As, w.On, w.Value, w.Absent, w.Invalid)
		}
	}
	return b.String()
}
