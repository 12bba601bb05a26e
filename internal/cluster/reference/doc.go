// Package reference watches resources of any kind that have replicas, while callers want them. It
// makes no request while nothing changes.
//
//	wanted ──kind──► discovery ──resource──► watch of metadata ──changed──► GET its scale ──► known
//	                     ▲                         │ missing, or forbidden
//	      CRD changed ───┴──── back-off ◄──────────┘
//
// Each kind in use has one watch, of metadata only. The scale of an object is read when its
// metadata has changed, so the package does not depend on the spec of any kind. A known scale is
// as new as the observed metadata. A kind that is slow or forbidden delays no other. The package
// reads and never writes.
package reference
