// Package group decides the next actions for a rollout group: one StatefulSet for each zone, disrupted one zone at a
// time.
//
//	Plan(Snapshot)               the next actions              group.go
//	Admit(Snapshot, request)     may this zone scale down?     admit.go
//	Evict(Snapshot, request)     may this pod be evicted?      evict.go
//	Describe(Snapshot, actions)  what users see                status.go
//
// All four use the same groupState, which counts the snapshot (group_state.go). Guards can object to an action or a
// request of the first three. The order of the lists of guards is the order in which objections are reported
// (guards.go, admit.go, evict.go). Input: snapshot.go, with what the Lease records of a group (record.go,
// downscale.go) and what zones ask for (mirror.go, delay.go). Output: actions, with a file for each action that only
// rollout groups have.
package group
