// Package spans creates one trace of each rollout from the record in the group's Lease. It has a
// span for the rollout, one for each zone and one for each pod.
//
// The Lease contains the trace and the id of its root; the other ids are derived from the Lease.
// Therefore every leader creates the same spans. It exports the spans of which the Lease does not
// say that the collector has them (ADR 17). The package makes no decision, and no operation waits
// for it.
package spans
