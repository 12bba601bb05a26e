// Package reference knows resources of any kind that have replicas, as far as
// somebody wants to know, by watching them: nothing is asked twice while nothing
// changes.
//
//	wanted ──kind──► discovery ──resource──► watch of metadata ──changed──► GET its scale ──► known
//	                     ▲                         │ gone, or forbidden
//	      CRD changed ───┴──── back-off ◄──────────┘
//
// There is one watch for each kind in use, of metadata alone: whatever the kind,
// its spec is its own affair, and what its scale says is read when its metadata has
// changed. What is known is thus as new as the metadata that was seen. A kind that
// hangs or is forbidden delays no other. It reads and never writes.
package reference
