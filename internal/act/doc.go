// Package act carries plans out. It decides nothing: what it does, in which
// order and under which preconditions follows from the plan and from what
// internal/lock/hold decided about the Lease.
//
//	withdraw ──► write the hold ──► delete pods ──► adopt, void, ──► ask pods ───► raise, ──► tell pods that
//	(touch)      (compare-and-swap)                 stamp, lower     to prepare    report     they leave or stay
//
// The order is the safety of it: what comes before the hold takes nothing down, an
// intent is in the Lease before its deed is sent, no delete is sent once a zone was
// raised, which has to wait for pods then, and pods hear what the Lease says already.
// Deeds require the UID and the version that were judged. DeletePod is the one gate to
// pod deletion in the house.
package act
