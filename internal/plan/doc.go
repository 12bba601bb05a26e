// Package plan decides what should happen next to a group of StatefulSets.
//
// It reads nothing, writes nothing and knows no clock: a Snapshot goes in,
// Actions come out, and equal snapshots give equal actions. Nonsense in the
// input is a situation like others and yields a Wait that says what is wrong.
//
//	observe ──► Snapshot ──► plan.Group ──► []Action ──► act
//	                             │
//	                  guards: may this pod be taken down now?
//
// Floor 1: it imports the reason catalogue and the standard library without
// net, os, context and log. Controller, webhooks, command line, simulation and
// property tests all ask this package and nobody else.
package plan
