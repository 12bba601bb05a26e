// Package permission has the form in which every part of the operator declares
// what it needs of the API server. manifests/rbac is generated from the sum of
// these declarations, and a test compares it with what the API server's audit
// log has seen.
package permission

// Need is one kind of request and the reason for it.
type Need struct {
	Scope    Scope
	APIGroup string
	Resource string   // with its subresource: statefulsets/status
	Name     string   // only this object; empty: all
	Verbs    []string // as RBAC spells them
	Why      string
}

// Scope says where a request is made.
type Scope int

const (
	// Managed: in every namespace that is managed.
	Managed Scope = iota
	// Cluster: on objects without a namespace. Not needed in single-namespace mode.
	Cluster
	// Home: in the operator's own namespace.
	Home
	// Everywhere: on objects without a namespace, in single-namespace mode too.
	Everywhere
)
