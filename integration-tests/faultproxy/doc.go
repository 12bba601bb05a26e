// Package faultproxy stands between an operator and the API server and does what
// networks, API servers and crashes do: at a chosen request, or by chance from a
// seed.
//
//	operator ──HTTP/2──► Proxy ──► API server
//	                       │
//	                       ├── counts: writes, Events, leadership, watches
//	                       ├── gaps: when nothing was heard; delays: what was on its way
//	                       └── Script: which Fault meets which request
//
// It knows Kubernetes' paths and nothing of what is in them.
package faultproxy
