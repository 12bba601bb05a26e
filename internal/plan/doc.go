// Package plan decides what should happen next to a group of StatefulSets.
//
// It reads nothing, writes nothing and knows no clock: a Snapshot goes in,
// Actions come out, and equal snapshots give equal actions. Nonsense in the
// input is a situation like others and yields a Wait that says what is wrong.
//
//	Group(Snapshot)              what should happen next      group.go
//	Admit(Snapshot, request)     may this zone shrink?        admit.go
//	Evict(Snapshot, request)     may this pod be evicted?     evict.go
//	Describe(Snapshot, actions)  what people are shown        status.go
//
// All four count on one board (board.go). The first three ask guards, which object or
// let pass, from lists whose order is that in which people are told (guards.go, admit.go,
// evict.go). What goes in: snapshot.go, with what the Lease notes (hold.go, downscale.go)
// and what zones ask for (mirror.go, delay.go). What comes out: action.go, and notation.go
// for how an action is written.
//
// It imports the catalogue of reasons, and of the standard library neither net, os,
// context nor log. Controller, webhooks, command line, simulation and property tests
// all ask this package; nothing else decides.
package plan
