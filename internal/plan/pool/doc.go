// Package pool decides the next actions for a pool: the pods and claims of one StatefulCluster, which have no order and
// whose identities are never used again.
//
//	Plan(Snapshot)   the next actions   plan.go
//
// The rules are one file each, in the order in which Plan asks them: which pods are too many (surplus.go), which pods
// lack their claims (complete_pod.go), how many pods are missing (create_pods.go), which identities have ended
// (retire_identity.go). All of them count with poolState (pool_state.go). Input: snapshot.go, identity.go.
package pool
