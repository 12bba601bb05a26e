package podcalls

import (
	"fmt"
	"time"
)

// Result is the result for one pod.
type Result struct {
	Pod     string
	Outcome Outcome
	Why     Why           // for Refused and Failed
	Status  int           // of the answer, if there was one
	Took    time.Duration // from the start of the connection, without the wait for a slot
	Since   time.Time     // for a pod that is to leave, the time since which it is ready to, by its own clock
}

// Outcome is the outcome of a call.
type Outcome string

const (
	// NotCalled: the pod was not called because another one had failed, the time was over, or its namespace is
	// not managed any more.
	NotCalled Outcome = "not_asked"
	// Answered: the pod answered with a 2xx.
	Answered Outcome = "answered"
	// Refused: lockstep does not call such a pod.
	Refused Outcome = "refused"
	// Failed: the pod was called and did not answer with a 2xx. It may have carried out the request
	// nevertheless.
	Failed Outcome = "failed"
)

// Why is the reason of a refusal or failure. The set of values is fixed, so it can be a metric label and can
// be mapped to the catalogue of reasons.
type Why string

// Reasons why a pod is not called.
const (
	NoAddress   Why = "NoAddress"   // the pod has no address (yet)
	BadAddress  Why = "BadAddress"  // the address is invalid
	Unspecified Why = "Unspecified" // 0.0.0.0/8 or ::
	Loopback    Why = "Loopback"
	LinkLocal   Why = "LinkLocal"
	Multicast   Why = "Multicast"
	NodeAddress Why = "NodeAddress" // the pod uses the address of its node
	NoService   Why = "NoService"   // its StatefulSet has no spec.serviceName, so the pod has no name
	BadName     Why = "BadName"     // pod, Service and namespace do not form a DNS name
	BadCall     Why = "BadCall"     // the port or the path is missing or invalid
)

// Reasons why a call failed.
const (
	Unreachable Why = "Unreachable" // no connection: refused or no route
	NoAnswer    Why = "NoAnswer"    // no answer within the limit of a call
	Abandoned   Why = "Abandoned"   // the caller's context ended first
	Garbled     Why = "Garbled"     // the answer is not HTTP, or its headers are too large
	Declined    Why = "Declined"    // a status other than 2xx
	Diverted    Why = "Diverted"    // the connection would have gone to another address
	Untrusted   Why = "Untrusted"   // its certificate is not valid for its name, or is not from a trusted authority
	NoTimestamp Why = "NoTimestamp" // a 2xx without the time since which the pod is ready to leave
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
	Untrusted:   "has a certificate that is not valid for its name or whose issuer is not trusted",
	NoTimestamp: "did not say since when it is ready to leave",
}

// String returns the result in words for users.
func (r Result) String() string {
	switch r.Outcome {
	case Answered:
		return fmt.Sprintf("pod %s answered with status %d", r.Pod, r.Status)
	case NotCalled:
		return fmt.Sprintf("pod %s was not called", r.Pod)
	case Refused, Failed:
	}
	return fmt.Sprintf("pod %s %s", r.Pod, r.failure())
}

// failure returns what went wrong with the call.
func (r Result) failure() string {
	if r.Status != 0 {
		return fmt.Sprintf("%s with status %d", sentences[r.Why], r.Status)
	}
	return sentences[r.Why]
}

// Results are the results for all pods, in the order of the pods.
type Results []Result

// First returns the first result that was refused or failed, else the first that was not called. If all pods
// answered, it returns nil.
func (all Results) First() *Result {
	var notCalled *Result
	for i := range all {
		switch r := &all[i]; r.Outcome {
		case Refused, Failed:
			return r
		case NotCalled:
			if notCalled == nil {
				notCalled = r
			}
		case Answered:
		}
	}
	return notCalled
}
