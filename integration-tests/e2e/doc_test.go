// Package e2e_test installs lockstep from the manifests on nodes that run containers, and tests it
// as users use it.
//
//	test ──► scene: a namespace of its own, zones of members
//	            │
//	            ├── kubectl, as users run it
//	            └── judge: the guarantees, in every scene (package judge)
//
// The nodes are the suite's own (package realnode), in an enclosure, so they need root:
// LOCKSTEP_E2E=run (make e2e). KUBECONFIG_E2E names a cluster to use instead; its nodes must have
// the images.
package e2e_test
