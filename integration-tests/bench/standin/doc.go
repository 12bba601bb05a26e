// Package standin is a stand-in for an API server. It serves one program that watches more pods than a
// cluster on one machine can hold.
//
//	generated records ──► list, watch ──► the program
//	        ▲                                │
//	        └── StatefulSet controller, kubelet ◄── delete, patch, Leases
//
// It lists and watches namespaces, StatefulSets, pods and Leases, with label selectors, bookmarks and
// initial events. It stores Leases. It deletes pods if their preconditions hold, and replaces them at
// once, as the StatefulSet controller and a kubelet do together. It supports protobuf and JSON, like a
// real API server.
//
// It omits everything else: storage, so writes cost almost nothing; TLS, accounts and permissions, so
// all requests are allowed; admission; priority and fairness; custom resources, so there are no
// RolloutGroups and no budgets for evictions; and the time that a controller and a kubelet take. The
// figures therefore show what the program needs by itself.
package standin
