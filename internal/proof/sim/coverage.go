package sim

// coverPoint is an event or a combination of events that the explored histories must
// contain.
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
	cachesAdvanceInSteps:            "caches lag and trickle",
	podCrashes:                      "a pod crashes",
	podsDeletedByOthers:             "somebody else deletes a pod",
	podsUpdatedByOthers:             "somebody else touches a pod",
	userEdits:                       "a user changes a zone",
	operatorsDie:                    "an operator dies, at any point of its round",
	operatorsRestartWithFirstCaches: "... and starts with the very first caches",
	leadershipChanges:               "leadership passes to another operator, at any point of a round",
	secondOperatorStartsStale:       "a second operator begins with the first caches while the first one works",
	staleDeleteSent:                 "an operator sleeps until another zone has the hold, then sends its takedown",
	staleDeleteSentAfterExpiry:      "... and a hold has expired before",
	staleLeaseWriteSent:             "an operator sleeps until the hold was written, then writes it",
	requestsLost:                    "a request never arrives",
	repliesLost:                     "a reply is lost",
	requestsArriveLate:              "a request arrives after its sender has given it up or died",
	holdsExpire:                     "a hold expires",
	holdsAcquiredManually:           "somebody takes the hold by hand",
	budgetsUsed:                     "a pod is taken down beside one that is down",
	downscalesAdmitted:              "a downscale is admitted and happens",
	downscalesRefused:               "a downscale is refused",
	downscalesWithoutHold:           "a downscale harms nobody and needs no hold",
	downscalesReviewedAgain:         "a downscale is admitted, overtaken and judged again",
	admittedDownscalesLost:          "a downscale is admitted and never happens",
	unadmittedDownscales:            "a downscale that nobody admitted is seen",
	ownDownscales:                   "lockstep itself makes a downscale",
	evictionsCarriedOut:             "an eviction is granted and takes a pod down",
	evictionsDuringOperation:        "... beside a rollout or a downscale of the same zone",
	concurrentEvictions:             "... while another one is under way",
	evictionsOfDown:                 "a pod that is down is evicted",
	evictionsRefused:                "an eviction is refused",
	evictionsQueued:                 "... and waits in the queue",
	evictionsRefusedByPDB:           "an eviction is granted and a PodDisruptionBudget refuses it",
	evictionsGrantedAgain:           "an eviction is granted again whose grant has lapsed",
	grantsEnded:                     "an eviction that was granted and did not happen is taken off the hold",
	evictionsLate:                   "an eviction arrives after its pod was replaced",
	evictionsFromCaches:             "an eviction is granted on caches",
	evictionsByStandby:              "an eviction is granted by a process that does not lead",
	liveReadsRestarted:              "a live read begins anew, since a zone asks again for a pod that was deleted",
	evictionsByPartition:            "pods of one partition are evicted while another partition has pods down",
}

// coverSet is a set of dimensions.
type coverSet uint64

func covering(d coverPoint) coverSet { return 1 << d }

// coversOfRound returns the dimensions of an operator that begins a round now.
func (w *world) coversOfRound(n int) coverSet {
	o := &w.operators[n]
	for other := range w.operators {
		if other != n && w.operators[other].state != roundIdle && o.known.version == 0 && w.lease.version > 0 && o.pods != w.pods {
			return covering(secondOperatorStartsStale)
		}
	}
	return 0
}

// coversOfRequest returns the dimensions of a request that is sent now.
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

// covers returns the dimensions of a decision.
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
