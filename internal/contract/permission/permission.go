// Package permission contains the type in which each part of the operator declares the permissions that it
// needs. manifests/rbac is generated from all of these declarations, and a test compares them with the API
// server's audit log.
package permission

// Need is one kind of request and the reason for it.
type Need struct {
	Scope    Scope
	APIGroup string
	Resource string   // with its subresource, such as statefulsets/status
	Name     string   // only this object; empty for all
	Verbs    []string // in the spelling of RBAC
	Why      string
}

// Scope is where a request is made.
type Scope int

const (
	// Managed: in each managed namespace.
	Managed Scope = iota
	// Cluster: for objects without a namespace; not needed in single-namespace mode.
	Cluster
	// Home: in the operator's own namespace.
	Home
	// Everywhere: for objects without a namespace, in single-namespace mode as well.
	Everywhere
)
