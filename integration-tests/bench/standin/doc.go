// Package standin plays an API server for one program that watches very many
// pods: more than a cluster on one machine can be asked to hold.
//
//	generated records ──► list, watch ──► the program
//	        ▲                                │
//	        └── StatefulSet controller, kubelet ◄── delete, patch, Leases
//
// It lists and watches namespaces, StatefulSets, pods and Leases with label
// selectors, bookmarks and watches that begin with what exists; it keeps Leases,
// deletes pods if they still are what was judged, and replaces them at once, as
// the StatefulSet controller and a kubelet would do together. It speaks protobuf
// and JSON, as real ones do.
//
// What a real one has beyond that is left out: storage, so writes cost nearly
// nothing; TLS, accounts and permissions, which are all granted; admission,
// priority and fairness; custom resources, so there are no RolloutGroups and no
// budgets for evictions; the time that a controller and a kubelet take. So a
// figure taken against it says what the program needs by itself.
package standin
