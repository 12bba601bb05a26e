// Package act carries plans out. It decides nothing: what it does, in which
// order and under which preconditions follows from the plan and from what
// internal/hold decided about the Lease.
//
//	withdraw ──► write the hold ──► delete pods ──► adopt, void, ──► raise, ──► call
//	(touch)      (compare-and-swap)                 stamp, lower     report     pods
//
// The order is the safety of it: what comes before the hold takes nothing down, an
// intent is in the Lease before its deed is sent, nobody is taken down beside a zone
// that lockstep itself has just made wait for more pods, and pods are told what the
// Lease says already. Deeds require the UID and the version that were judged.
// DeletePod is the one gate to pod deletion in the house. Floor 4.
package act
