// Package judge says from the outside whether operators kept their promises. It
// knows nothing of the operator: only the API server's audit log and watches of
// pods, StatefulSets, Leases and Namespaces, as admin, put in order by
// resourceVersion.
//
//	watches ──► Witness ──► facts ───┐
//	                                 ├──► Try ──► takedowns, violations
//	audit log ► AuditLog ─► requests ┘
//
// Violations are of guarantees 1 to 5 and 8 of docs/guarantees.md. Only what a
// deletion by an operator took down counts at once, and an eviction by anybody where
// these go through admission; what breaks by itself, or is changed by others, counts
// when the operator had time to hear of it. Any number
// of namespaces is judged together, and each of them as if it were alone.
//
// Order and Overstepped are no guarantees: which order rollouts take, and what no
// operator ever writes.
package judge
