// Package rolloutgroup shows the state of every group in an object: it creates a RolloutGroup
// for each group, writes its status, and deletes it with the group.
//
//	plan of a group ──► Take ──► the latest ──at most once a second──► group.Describe ──► status, if it differs
//	                                                                                        ▲
//	watch ──► Cache: objects  ──changed by a user, or missing──► Reconcile ──────────────────┘
//
// Only the leader does so, in namespaces that opted in. If the kind does not exist, nothing is
// done. The kind can be created, deleted and created again at any time. No decision depends on
// these objects.
package rolloutgroup
