package hook

import (
	"fmt"
	"time"
)

// Result is what became of one pod.
type Result struct {
	Pod     string
	Outcome Outcome
	Why     Why           // for Refused and Failed
	Status  int           // of the answer, where there was one
	Took    time.Duration // from the first packet on; waiting for a turn does not count
	Since   time.Time     // of who is to leave: since when it is ready to, by its own clock
}

// Outcome is what became of a call.
type Outcome string

const (
	// NotAsked: the pod was not called, since another had failed, time was over or its
	// namespace is not managed any more.
	NotAsked Outcome = "not_asked"
	// Answered: the pod answered with a 2xx.
	Answered Outcome = "answered"
	// Refused: lockstep does not call such a pod.
	Refused Outcome = "refused"
	// Failed: the pod was called, and did not answer with a 2xx. It may have done
	// what it was asked for nevertheless.
	Failed Outcome = "failed"
)

// Why is the reason of a refusal or failure. The set is closed, so it fits a
// metric's label and can be mapped to the catalogue of reasons.
type Why string

// Why a pod is not called.
const (
	NoAddress   Why = "NoAddress"   // it has no address (yet)
	BadAddress  Why = "BadAddress"  // what it has is no address
	Unspecified Why = "Unspecified" // 0.0.0.0/8 or ::
	Loopback    Why = "Loopback"
	LinkLocal   Why = "LinkLocal"
	Multicast   Why = "Multicast"
	NodeAddress Why = "NodeAddress" // it uses the address of its node
	NoService   Why = "NoService"   // its StatefulSet has no spec.serviceName, so it has no name
	BadName     Why = "BadName"     // pod, Service and namespace make no DNS name
	BadCall     Why = "BadCall"     // the caller gave no port or path
)

// Why a call failed.
const (
	Unreachable Why = "Unreachable" // no connection: refused, no route
	NoAnswer    Why = "NoAnswer"    // not within the limit of a call
	Abandoned   Why = "Abandoned"   // the time of whoever asked was over first
	Garbled     Why = "Garbled"     // what came is no HTTP answer, or its head is too large
	Declined    Why = "Declined"    // another status than 2xx
	Diverted    Why = "Diverted"    // the connection would have gone elsewhere
	Untrusted   Why = "Untrusted"   // its certificate is not valid for its name, or nobody known vouches for it
	NoTimestamp Why = "NoTimestamp" // a 2xx that does not say since when the pod is ready to leave
)

var sentences = map[Why]string{
	NoAddress:   "has no IP address",
	BadAddress:  "has no valid IP address",
	Unspecified: "has an unspecified IP address",
	Loopback:    "has a loopback address",
	LinkLocal:   "has a link-local address",
	Multicast:   "has a multicast address",
	NodeAddress: "uses the address of its node (hostNetwork), where lockstep calls nobody",
	NoService:   "has no name, since its StatefulSet has no spec.serviceName",
	BadName:     "has a name that is none in DNS",
	BadCall:     "was to be called without port or path",
	Unreachable: "cannot be reached",
	NoAnswer:    "did not answer in time",
	Abandoned:   "did not answer before the time for all pods was over",
	Garbled:     "gave an answer that is no HTTP, or too large a head",
	Declined:    "declined",
	Diverted:    "could not be called at its own address",
	Untrusted:   "has a certificate that is not valid for its name or that nobody known vouches for",
	NoTimestamp: "did not say since when it is ready to leave",
}

// String tells a person what became of the pod.
func (r Result) String() string {
	switch r.Outcome {
	case Answered:
		return fmt.Sprintf("pod %s answered with status %d", r.Pod, r.Status)
	case NotAsked:
		return fmt.Sprintf("pod %s was not asked", r.Pod)
	case Refused, Failed:
	}
	return fmt.Sprintf("pod %s %s", r.Pod, r.failure())
}

// failure tells what the pod did instead of answering.
func (r Result) failure() string {
	if r.Status != 0 {
		return fmt.Sprintf("%s with status %d", sentences[r.Why], r.Status)
	}
	return sentences[r.Why]
}

// Results are what became of all pods, in the order in which they were given.
type Results []Result

// First returns what kept the pods from answering: the first that was refused or
// failed, else the first that was not asked, else nil: every pod did.
func (all Results) First() *Result {
	var notAsked *Result
	for i := range all {
		switch r := &all[i]; r.Outcome {
		case Refused, Failed:
			return r
		case NotAsked:
			if notAsked == nil {
				notAsked = r
			}
		case Answered:
		}
	}
	return notAsked
}
