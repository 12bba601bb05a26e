// Package history says what a group's Lease remembers of rollouts: when a rollout,
// its zones and its pods began and ended. It is there for people, so no decision
// depends on it. It is written with what is written anyway; for its own sake only where
// a rollout ended while nobody had the hold (ADR 17).
//
// Every time in it comes from the Lease, from API objects or, where these have whole seconds,
// from what the writing process saw itself. Once written, a time stays: the next leader
// exports the same spans.
//
// A record is computed from what was seen, the record so far, and the hold that is about to
// be written.
package history
