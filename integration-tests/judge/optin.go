package judge

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// namespaceVersion is a state of a Namespace and when its event arrived.
type namespaceVersion struct {
	at time.Time
	*NamespaceState
}

// observerDelay is how much later than an operator the judge may receive an event.
const observerDelay = time.Second

// verifyDeleteRequests verifies the delete requests of operators, including refused ones.
func (v *verifier) verifyDeleteRequests() {
	for _, r := range v.requests {
		if _, byOperator := v.operator(r.User); !byOperator {
			continue
		}
		v.verifyForce(r)
		switch {
		case r.Forbidden: // RBAC refuses a request before its body is read
		case r.deletesPod() && r.answered() && !r.conditional():
			v.report(5, nil, "%s was to be deleted without preconditions on UID and resourceVersion", r.Name)
		case r.deletesPod() && r.succeeded() && v.firstSeen[r.UID].IsZero():
			v.report(5, nil, "%s was deleted, which no watch has reported", r.Name)
		case r.Verb == "deletecollection" && r.Resource == "pods", r.Resource == "pods/eviction":
			v.report(5, nil, "pods were to be removed other than by deleting one: %s", r)
		}
	}
}

// verifyWrites verifies that the namespace had opted in at every write of an operator. Access reviews
// store nothing and do not count.
func (v *verifier) verifyWrites() {
	for _, r := range v.requests {
		o, byOperator := v.operator(r.User)
		if !byOperator || !r.Writes() || r.Code == 404 || strings.HasSuffix(r.Resource, "accessreviews") { // a write to a missing object changes nothing
			continue
		}
		isLeaderLease := r.Namespace == o.LeadershipNamespace && r.Resource == "leases" && r.Name == LeaderLease
		if !isLeaderLease && !v.isManaged(o, knowledge{now: r.At, decidedAt: r.At, agent: r.Agent}) {
			v.report(8, nil, "written to a namespace that did not opt in: %s", r)
		}
	}
}

// isManaged reports whether the namespace may appear managed to an operator.
func (v *verifier) isManaged(o Operator, k knowledge) bool {
	if len(o.Namespaces) > 0 {
		return slices.Contains(o.Namespaces, v.namespace)
	}
	for i, state := range v.namespaceStates {
		ended := i+1 < len(v.namespaceStates) && v.mustKnow(k, v.namespaceStates[i+1].at, anything)
		started := state.at.Sub(k.now) <= observerDelay
		if started && !ended && !state.Deleted && o.Selector != nil && o.Selector.Matches(labels.Set(state.Labels)) {
			return true
		}
	}
	return false
}
