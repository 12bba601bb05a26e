// Package spans makes one trace of each rollout: a span for the rollout, one for each
// zone and one for each pod, from what the group's Lease remembers of it.
//
// The trace and the id of its root stand in the Lease, and the other ids are made from
// what stands there. So whoever leads makes the same spans, and exports those of which
// the Lease does not say that the collector has them (ADR 17). It decides
// nothing, and nothing waits for it.
package spans
