// Package e2e_test installs lockstep from the manifests on nodes that run containers,
// and asks of it what users ask of it.
//
//	test ──► scene: a namespace of its own, zones of members
//	            │
//	            ├── kubectl, as users have it
//	            └── judge: what may never happen, in any scene (package judge)
//
// The nodes are the suite's own (package realnode), in an enclosure, so they need
// root: LOCKSTEP_E2E=run (make e2e). KUBECONFIG_E2E names a cluster instead, on which
// everything is then done; its nodes must have the images.
package e2e_test
