// Package act carries plans out. It decides nothing: what it does, in which
// order and under which preconditions follows from the plan and from what
// internal/hold decided about the Lease.
//
//	raise, ──► withdraw ──► write the hold ──► delete pods ──► adopt, void, ──► call
//	report     (touch)    (compare-and-swap)                   stamp, lower     pods
//
// The order is the safety of it: what comes before the hold takes nothing down, an
// intent is in the Lease before its deed is sent, and pods are told what the Lease
// says already. Deeds require the UID and the version that were judged. DeletePod is the one gate to pod deletion in the house. Floor 4.
package act
