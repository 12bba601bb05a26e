package sim

// dimension is an event or a combination of events that the explored histories must
// contain.
type dimension uint8

// Events.
const (
	cachesJump dimension = iota
	cachesTrickle
	podCrashes
	podsDeletedByOthers
	podsTouchedByOthers
	userEdits
	operatorsDie
	operatorsStartFromTheFirstCaches
	leadershipPasses
	secondStartsBehind
	sleeperOvertaken
	sleeperOvertakenAfterAMinute
	sleeperMissesTheHold
	requestsLost
	repliesLost
	requestsComeLate
	holdsExpire
	holdsTakenByHand
	budgetsUsed
	downscalesAdmitted
	downscalesRefused
	downscalesWithoutHold
	downscalesJudgedAgain
	downscalesNeverCame
	downscalesSeen
	downscalesOfOurOwn
	evictionsHappen
	evictionsBeside
	evictionsTwice
	evictionsOfDown
	evictionsRefused
	evictionsQueued
	evictionsVetoed
	evictionsAgain
	evictionsLapsed
	evictionsLate
	evictionsByCaches
	evictionsByStandby
	evictionsByPartition
	looksBeginAnew
	allDimensions
)

var dimensionNames = [allDimensions]string{
	cachesJump:                       "caches lag and jump to the present",
	cachesTrickle:                    "caches lag and trickle",
	podCrashes:                       "a pod crashes",
	podsDeletedByOthers:              "somebody else deletes a pod",
	podsTouchedByOthers:              "somebody else touches a pod",
	userEdits:                        "a user changes a zone",
	operatorsDie:                     "an operator dies, at any point of its round",
	operatorsStartFromTheFirstCaches: "... and starts with the very first caches",
	leadershipPasses:                 "leadership passes to another operator, at any point of a round",
	secondStartsBehind:               "a second operator begins with the first caches while the first one works",
	sleeperOvertaken:                 "an operator sleeps until another zone has the hold, then sends its takedown",
	sleeperOvertakenAfterAMinute:     "... and a hold has expired before",
	sleeperMissesTheHold:             "an operator sleeps until the hold was written, then writes it",
	requestsLost:                     "a request never arrives",
	repliesLost:                      "a reply is lost",
	requestsComeLate:                 "a request arrives after its sender has given it up or died",
	holdsExpire:                      "a hold expires",
	holdsTakenByHand:                 "somebody takes the hold by hand",
	budgetsUsed:                      "a pod is taken down beside one that is down",
	downscalesAdmitted:               "a downscale is admitted and happens",
	downscalesRefused:                "a downscale is refused",
	downscalesWithoutHold:            "a downscale harms nobody and needs no hold",
	downscalesJudgedAgain:            "a downscale is admitted, overtaken and judged again",
	downscalesNeverCame:              "a downscale is admitted and never happens",
	downscalesSeen:                   "a downscale that nobody admitted is seen",
	downscalesOfOurOwn:               "lockstep itself makes a downscale",
	evictionsHappen:                  "an eviction is granted and takes a pod down",
	evictionsBeside:                  "... beside a rollout or a downscale of the same zone",
	evictionsTwice:                   "... while another one is under way",
	evictionsOfDown:                  "a pod that is down is evicted",
	evictionsRefused:                 "an eviction is refused",
	evictionsQueued:                  "... and waits in the queue",
	evictionsVetoed:                  "an eviction is granted and a PodDisruptionBudget refuses it",
	evictionsAgain:                   "an eviction is granted again whose grant has lapsed",
	evictionsLapsed:                  "an eviction that was granted and did not happen is taken off the hold",
	evictionsLate:                    "an eviction arrives after its pod was replaced",
	evictionsByCaches:                "an eviction is granted on caches",
	evictionsByStandby:               "an eviction is granted by a process that does not lead",
	looksBeginAnew:                   "a live read begins anew, since a zone asks again for a pod that was deleted",
	evictionsByPartition:             "pods of one partition are evicted while another partition has pods down",
}

// dimensions is a set of dimensions.
type dimensions uint64

func one(d dimension) dimensions { return 1 << d }

// beginning returns the dimensions of an operator that begins a round now.
func (w *world) beginning(n int) dimensions {
	o := &w.operators[n]
	for other := range w.operators {
		if other != n && w.operators[other].at != idle && o.known.version == 0 && w.lease.version > 0 && o.pods != w.pods {
			return one(secondStartsBehind)
		}
	}
	return 0
}

// sending returns the dimensions of a request that is sent now.
func (w *world) sending(r request, c Config) (set dimensions) {
	overtaken := w.lease.holder != free && w.lease.holder != foreign && int(w.lease.holder) != zoneOf(int(r.target))+1
	switch {
	case r.kind == remove && r.up && overtaken:
		set |= one(sleeperOvertaken)
		if int(w.left.minutes) < c.Minutes {
			set |= one(sleeperOvertakenAfterAMinute)
		}
	case r.kind == write && r.record.version != w.lease.version:
		set |= one(sleeperMissesTheHold)
	}
	return set
}

// exercises returns the dimensions of a decision.
func (d *decision) exercises() (set dimensions) {
	if d.beside {
		set |= one(budgetsUsed)
	}
	if d.adopts {
		set |= one(downscalesSeen)
	}
	if d.lapses {
		set |= one(evictionsLapsed)
	}
	return set
}
