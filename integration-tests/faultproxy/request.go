package faultproxy

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

// Kind is the class in which a request is counted.
type Kind int

// Kinds of requests.
const (
	Read   Kind = iota // includes access reviews, which store nothing
	Watch              // a watch
	Write              // any other request
	Event              // a write of a Kubernetes Event
	Leader             // a write of the leader Lease
)

func (k Kind) String() string {
	return [...]string{"read", "watch", "write", "write of an Event", "write of leadership"}[k]
}

// leaderLease is the Lease of the replica that works.
const leaderLease = "lockstep-leader"

// Request has the properties by which a script chooses a fault.
type Request struct {
	Kind      Kind
	Number    int // counted from 1, among those of its kind
	Method    string
	Namespace string
	Resource  string // with its subresource
	Name      string
	Selector  string // of a list, by labels
	Agent     string // the name from Sign
}

// decides reports whether the request changes objects, or is a read on which decisions depend.
func (r Request) decides() bool { return r.Kind == Read || r.Kind == Write }

func (r Request) writes() bool { return r.Kind != Read && r.Kind != Watch }

func (r Request) String() string {
	return fmt.Sprintf("%s %d: %s %s %s", r.Kind, r.Number, r.Method, r.Resource, r.Name)
}

// read returns the properties of an HTTP request, without its number.
func read(r *http.Request, body []byte) Request {
	is := parsePath(r.URL.Path)
	is.Method, is.Selector = r.Method, r.URL.Query().Get("labelSelector")
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Has("watch"):
		is.Kind = Watch
	case r.Method == http.MethodGet, strings.HasSuffix(is.Resource, "accessreviews"), r.URL.Query().Has("dryRun"): // they store nothing
		is.Kind = Read
	case is.Resource == "events":
		is.Kind = Event
	case is.Resource == "leases" && (is.Name == leaderLease || bytes.Contains(body, []byte(leaderLease))):
		is.Kind = Leader
	default:
		is.Kind = Write
	}
	return is
}

// parsePath reads /api/v1/... and /apis/GROUP/VERSION/..., with or without namespaces/NAMESPACE,
// then RESOURCE, RESOURCE/NAME or RESOURCE/NAME/SUBRESOURCE.
func parsePath(path string) Request {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return Request{Resource: path}
	}
	var r Request
	if parts[0] == "namespaces" && len(parts) > 2 {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Resource += "/" + strings.Join(parts[2:], "/")
	}
	return r
}
