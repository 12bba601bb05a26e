package judge

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// heard is a state of a Namespace and when it was heard of.
type heard struct {
	at time.Time
	*Home
}

// hearing is how much later than an operator the judge itself may hear of something.
const hearing = time.Second

// tryRequests judges what operators asked to delete, whatever came of it.
func (c *court) tryRequests() {
	for _, r := range c.requests {
		if _, ours := c.operator(r.User); !ours {
			continue
		}
		switch {
		case r.Forbidden: // and so never read
		case r.deletesPod() && r.over() && !r.conditional():
			c.object(5, nil, "%s was to be deleted without requiring UID and resourceVersion", r.Name)
		case r.deletesPod() && r.succeeded() && c.seen[r.UID].IsZero():
			c.object(5, nil, "%s was deleted, of which no watch has told", r.Name)
		case r.Verb == "deletecollection" && r.Resource == "pods", r.Resource == "pods/eviction":
			c.object(5, nil, "pods were to go by other means than a deletion of one: %s", r)
		}
	}
}

// tryWrites asks whether the namespace had opted in at every write of an operator. A
// review stores nothing.
func (c *court) tryWrites() {
	for _, r := range c.requests {
		o, ours := c.operator(r.User)
		if !ours || !r.Writes() || r.Code == 404 || strings.HasSuffix(r.Resource, "accessreviews") { // what is about nothing changes nothing
			continue
		}
		ofLeadership := r.Namespace == o.Home && r.Resource == "leases" && r.Name == LeaderLease
		if !ofLeadership && !c.managed(o, knowledge{now: r.At, decided: r.At, agent: r.Agent}) {
			c.object(8, nil, "written to a namespace that did not opt in: %s", r)
		}
	}
}

// managed reports whether an operator could take a namespace for its own.
func (c *court) managed(o Operator, k knowledge) bool {
	if len(o.Namespaces) > 0 {
		return slices.Contains(o.Namespaces, c.namespace)
	}
	for i, home := range c.homes {
		ended := i+1 < len(c.homes) && c.knew(k, c.homes[i+1].at, anything)
		begun := home.at.Sub(k.now) <= hearing
		if begun && !ended && !home.Gone && o.Selector != nil && o.Selector.Matches(labels.Set(home.Labels)) {
			return true
		}
	}
	return false
}
