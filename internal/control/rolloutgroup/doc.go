// Package rolloutgroup shows how every group stands in an object of its own: it makes
// a RolloutGroup for each, writes its status, and removes it with the group.
//
//	plan of a group ──► Take ──► the latest ──at most once a second──► plan.Describe ──► status, if another
//	                                                                                        ▲
//	watch ──► Cache: what exists  ──another hand, or none──► Reconcile ──────────────────────┘
//
// Only whoever leads does so, in namespaces that opted in. Without the kind nothing is
// done; it may come, go and come back. What is shown decides nothing.
package rolloutgroup
