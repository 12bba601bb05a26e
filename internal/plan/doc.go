// Package plan decides the next actions for a group of StatefulSets.
//
// It reads nothing, writes nothing and uses no clock: a Snapshot goes in, Actions come out, and
// equal snapshots give equal actions. Invalid input is a situation like any other: the plan has a
// Wait that says what is wrong.
//
//	Group(Snapshot)              the next actions              group.go
//	Admit(Snapshot, request)     may this zone scale down?     admit.go
//	Evict(Snapshot, request)     may this pod be evicted?      evict.go
//	Describe(Snapshot, actions)  what users see                status.go
//
// All four use the same groupState, which counts the snapshot (group_state.go). Guards can object
// to an action or a request of the first three. The order of the lists of guards is the order in
// which objections are reported (guards.go, admit.go, evict.go). Input: snapshot.go, with the
// records of the Lease (hold.go, downscale.go) and what zones ask for (mirror.go, delay.go).
// Output: action.go, and a file for each action.
//
// The package imports the catalogue of reasons, and of the standard library neither net, os,
// context nor log. The controller, webhooks, command line, simulation and property tests all call
// this package; no other code decides.
package plan
