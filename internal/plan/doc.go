// Package plan has what the decisions of all kinds of workloads share: a workload as it was observed (workload.go), what
// it is called (key.go), its pods (pod.go), what its Lease records (record.go: the hold in hold.go, holder.go, intent.go
// and waiting.go, and the part of its kind), the actions of a plan (action.go, and a file for each action that all kinds
// have), refusals and waits. The rules of each kind are in a package of its own below this one, such as plan/group.
//
// The packages of this area read nothing, write nothing and use no clock: a snapshot goes in, actions come out, and
// equal snapshots give equal actions. Invalid input is a situation like any other: the plan has a Wait that says
// what is wrong. The controllers, webhooks, command line, simulation and property tests all call these packages; no
// other code decides.
package plan
