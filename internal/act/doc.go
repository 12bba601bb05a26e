// Package act carries out plans. It decides nothing: the plan and the decision of internal/lock/hold about
// the Lease determine its requests, their order and their preconditions.
//
//	cancel ────► write the ────► delete ──► adopt, stamp, ──► call pods ──► scale up, ──► notify pods that
//	deletions    Lease           pods       scale down        to prepare    report        they leave or stay
//	(touch)      (compare-and-swap)
//
// The order keeps the guarantees: requests before the write of the Lease disrupt no pod. The Lease has an
// intent before its delete is sent. A zone is scaled up after all deletes, because it is unavailable until
// its new pods are available. Pods are notified only of what the Lease already records.
//
// Each disruption requires the UID and the version that were evaluated. deletePod is the only place in
// lockstep that deletes pods.
package act
