// Package judge says from the outside whether operators kept their promises. It
// knows nothing of the operator: only the API server's audit log and watches of
// pods, StatefulSets, Leases and Namespaces, as admin, put in order by
// resourceVersion.
//
//	watches ──► Witness ──► facts ───┐
//	                                 ├──► Try ──► takedowns, violations
//	audit log ► AuditLog ─► requests ┘
//
// Violations are of guarantees 1 to 6 and 8 of docs/guarantees.md. Only what a
// deletion by an operator took down counts at once, and an eviction by anybody where
// these go through admission; what breaks by itself, or is changed by others, counts
// when the operator had time to hear of it: a second later, or when it could hear
// again where a test says that it could not (Rules.Deaf), of pods or of StatefulSets. What the operator had looked
// at live it knew, whatever its caches had heard. Any number of namespaces is judged
// together, and each of them as if it were alone.
//
// A zone that left its group is judged as one of the group until it is settled: its
// StatefulSet was deleted and its last pod is gone, or all pods of its StatefulSet, which is
// outside of the group, are available. A StatefulSet that is made anew is the same zone.
//
// A request that nobody saw the end of, or that failed without certainly having had
// no effect, counts as having succeeded where a pod left meanwhile. A departure that
// nobody asked for is said (Verdict.Unexplained): something was not seen.
//
// Order and Overstepped are no guarantees: which order rollouts take, and what no
// operator ever writes.
package judge
