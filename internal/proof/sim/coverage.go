package sim

// coverPoint is an event, or a combination of events, that the explored histories must contain.
type coverPoint uint8

// Events.
const (
	cachesJump coverPoint = iota
	cachesAdvanceInSteps
	podCrashes
	podsDeletedByOthers
	podsUpdatedByOthers
	userEdits
	operatorsDie
	operatorsRestartWithFirstCaches
	leadershipChanges
	secondOperatorStartsStale
	staleDeleteSent
	staleDeleteSentAfterExpiry
	staleLeaseWriteSent
	requestsLost
	repliesLost
	requestsArriveLate
	holdsExpire
	holdsAcquiredManually
	budgetsUsed
	downscalesAdmitted
	downscalesRefused
	downscalesWithoutHold
	downscalesReviewedAgain
	admittedDownscalesLost
	unadmittedDownscales
	ownDownscales
	evictionsCarriedOut
	evictionsDuringOperation
	concurrentEvictions
	evictionsOfDown
	evictionsRefused
	evictionsQueued
	evictionsRefusedByPDB
	evictionsGrantedAgain
	grantsEnded
	evictionsLate
	evictionsFromCaches
	evictionsByStandby
	evictionsByPartition
	liveReadsRestarted
	coverPoints
)

var coverPointNames = [coverPoints]string{
	cachesJump:                      "caches lag and jump to the present",
	cachesAdvanceInSteps:            "caches lag and advance step by step",
	podCrashes:                      "a pod crashes",
	podsDeletedByOthers:             "another client deletes a pod",
	podsUpdatedByOthers:             "another client updates a pod",
	userEdits:                       "a user changes a zone",
	operatorsDie:                    "an operator dies, at any point of its round",
	operatorsRestartWithFirstCaches: "... and restarts with the caches of the start",
	leadershipChanges:               "leadership passes to another operator, at any point of a round",
	secondOperatorStartsStale:       "a second operator begins with the caches of the start during another round",
	staleDeleteSent:                 "an operator sends a delete although another zone has acquired the hold",
	staleDeleteSentAfterExpiry:      "... and a hold has expired before",
	staleLeaseWriteSent:             "an operator writes the Lease although the Lease has changed",
	requestsLost:                    "a request never arrives",
	repliesLost:                     "a reply is lost",
	requestsArriveLate:              "a request arrives after its sender gave up or died",
	holdsExpire:                     "a hold expires",
	holdsAcquiredManually:           "a user acquires the hold manually",
	budgetsUsed:                     "a rollout disrupts a pod while another pod of the zone is down",
	downscalesAdmitted:              "a downscale is admitted and carried out",
	downscalesRefused:               "a downscale is refused",
	downscalesWithoutHold:           "a downscale disrupts no pod and needs no hold",
	downscalesReviewedAgain:         "an admitted downscale is too late and is reviewed again",
	admittedDownscalesLost:          "a downscale is admitted and never carried out",
	unadmittedDownscales:            "lockstep records a downscale that was not admitted",
	ownDownscales:                   "lockstep itself scales a zone down",
	evictionsCarriedOut:             "an eviction is granted and disrupts a pod",
	evictionsDuringOperation:        "... during a rollout or a downscale of the same zone",
	concurrentEvictions:             "... during another eviction",
	evictionsOfDown:                 "a pod that is down is evicted",
	evictionsRefused:                "an eviction is refused",
	evictionsQueued:                 "... and waits in the queue",
	evictionsRefusedByPDB:           "an eviction is granted and a PodDisruptionBudget refuses it",
	evictionsGrantedAgain:           "an eviction is granted again while an earlier grant is recorded",
	grantsEnded:                     "a granted eviction that was not carried out is removed from the hold",
	evictionsLate:                   "an eviction arrives after its pod was replaced",
	evictionsFromCaches:             "an eviction is granted from caches",
	evictionsByStandby:              "an eviction is granted by a standby process",
	liveReadsRestarted:              "a live read restarts because a zone wants a deleted pod again",
	evictionsByPartition:            "pods of one partition are evicted while another partition has pods down",
}

// coverSet is a set of cover points.
type coverSet uint64

func covering(d coverPoint) coverSet { return 1 << d }

// coversOfRound returns the cover points of an operator that begins a round now.
func (w *world) coversOfRound(n int) coverSet {
	o := &w.operators[n]
	for other := range w.operators {
		if other != n && w.operators[other].state != roundIdle && o.known.version == 0 && w.lease.version > 0 && o.pods != w.pods {
			return covering(secondOperatorStartsStale)
		}
	}
	return 0
}

// coversOfRequest returns the cover points of a request that is sent now.
func (w *world) coversOfRequest(r request, c Config) (set coverSet) {
	overtaken := w.lease.holder != free && w.lease.holder != foreign && int(w.lease.holder) != zoneOf(int(r.target))+1
	switch {
	case r.kind == stepDeletePod && r.up && overtaken:
		set |= covering(staleDeleteSent)
		if int(w.remaining.expiries) < c.Expiries {
			set |= covering(staleDeleteSentAfterExpiry)
		}
	case r.kind == stepWriteLease && r.record.version != w.lease.version:
		set |= covering(staleLeaseWriteSent)
	}
	return set
}

// covers returns the cover points of a decision.
func (d *decision) covers() (set coverSet) {
	if d.usesBudget {
		set |= covering(budgetsUsed)
	}
	if d.recordsUnadmitted {
		set |= covering(unadmittedDownscales)
	}
	if d.endsGrant {
		set |= covering(grantsEnded)
	}
	return set
}
