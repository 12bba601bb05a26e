// Package pool decides the next actions for a pool: the pods and claims of one StatefulCluster, which have no order and
// whose identities are never used again for other data.
//
//	Plan(Snapshot)   the next actions   plan.go
//
// The rules are one file each: which templates are recorded (revision.go) and how they differ (change.go), which pods lack
// their claims (complete_pod.go), which identities get their next pod (hand_over.go), how many pods are missing
// (create_pods.go, surge.go), which pods without an owner are adopted (adopt.go) and which ones are released (release_pod.go),
// which pods are too many (surplus.go), which pods are lost (repair.go) and when they are replaced (pause.go), which pods get the
// newest template (update.go, in_place_update.go), and which identities have ended (retire_identity.go). All of them count with
// poolState (pool_state.go). Input: snapshot.go, strategy.go, identity.go.
package pool
