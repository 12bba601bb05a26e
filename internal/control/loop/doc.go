// Package loop is the work loop of a controller. Callers add keys, workers reconcile them, and
// the outcome decides when a key is reconciled again.
//
// It guarantees:
//   - two workers never reconcile one key at the same time; a key that is added
//     during its reconcile is reconciled again afterwards;
//   - namespaces take turns: before a namespace is served twice, every other
//     waiting namespace without a worker is served once, whatever its number of keys;
//   - the last free worker is reserved for a namespace without one, so busy
//     namespaces, if they are fewer than workers, never delay another namespace;
//   - errors have a back-off, waits have a duration, and a key has at most one timer;
//   - a panic of a reconcile delays its own key by a back-off and affects no other key,
//     also if it happens in parallel work (internal/cluster/parallel). A panic of a goroutine
//     that outlasts the reconcile ends the process, as everywhere in Go.
//
// It knows the class of an error and nothing else about the work. It neither reads nor
// writes the cluster. Controllers never access the queue.
package loop
