// Package act carries plans out. It decides nothing: what it does, in which
// order and under which preconditions follows from the plan and from what
// internal/hold decided about the Lease.
//
//	withdraw ──► write the hold ──► delete pods ──► adopt revisions
//	 (touch)     (compare-and-swap)  (UID + version)  (UID + version)
//
// The order is the safety of it: an intent is in the Lease before its deed is
// sent. DeletePod is the one gate to pod deletion in the house. Floor 4.
package act
