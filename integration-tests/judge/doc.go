// Package judge verifies from the outside whether operators kept their guarantees. It knows nothing of
// the operator. Its inputs are the API server's audit log and watches of pods, StatefulSets, claims,
// StatefulClusters, Leases and Namespaces with admin permissions. It orders events by resourceVersion.
//
//	watches ──► Observer ──► events ──┐
//	                                  ├──► Verify ──► disruptions, violations
//	audit log ─► AuditLog ─► requests ┘
//
// The guarantees are 1 to 6 and 8 of docs/guarantees.md, and with number 0 those about
// StatefulClusters, except for "Doubt destroys nothing". The effect of a deletion by an operator counts
// at once, and so does that of any eviction if the eviction webhook is in use. Any other change counts
// once the operator had time to observe it: after Rules.Grace, or later if a test made its caches stale
// (Rules.StaleCaches). The operator knows everything that it read live. Each namespace is verified
// separately.
//
// A zone that left its group still counts for the group until one of two things happens: its
// StatefulSet and all of its pods are deleted, or all pods of its StatefulSet are available outside of
// the group. A new StatefulSet with the same name is the same zone.
//
// If a request has no known outcome, or failed in a way that leaves its effect open, and its pod
// terminated meanwhile, it counts as successful. A termination without any request is listed in
// Verdict.Unexplained, because then the input is incomplete.
//
// OrderViolations and ForbiddenRequests check properties that are not guarantees: the order of
// rollouts, and writes that no operator makes.
package judge
