// Package loop is the engine of a controller: keys come in, workers reconcile
// them, and what came of it decides when a key is looked at again.
//
// What it promises:
//   - one key is never reconciled by two workers at the same time, and a key
//     that is added meanwhile is reconciled once more;
//   - namespaces take turns: before a namespace is served twice, every other one
//     that waits and has no worker is served once, however many keys it has;
//   - the last free worker is kept for a namespace that has none, so that busy
//     namespaces, fewer than workers, never keep another one waiting;
//   - errors back off, waits have a duration, and a key has one timer at most;
//   - a panic of a reconcile costs its own key a back-off, and nobody else anything, also
//     in what it does at the same time (internal/cluster/parallel); one of a goroutine that goes
//     on after it ends the process, as everywhere in Go.
//
// It knows the class of an error and nothing else about the work; it
// neither reads nor writes the cluster, and a controller never touches the queue.
package loop
