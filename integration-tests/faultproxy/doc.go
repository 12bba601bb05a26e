// Package faultproxy is a proxy between an operator and the API server. It plays faults of
// networks, API servers and processes: at a chosen request, or at random from a seed.
//
//	operator ──HTTP/2──► Proxy ──► API server
//	                       │
//	                       ├── counts: writes, Events, leadership, watches
//	                       ├── gaps: times without events; delays: late requests
//	                       └── Script: which Fault applies to which request
//
// It knows the paths of Kubernetes. In bodies, it only searches for the name of the leader Lease.
package faultproxy
