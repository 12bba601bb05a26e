// Package walk lets the real planner (internal/plan), the real rules of the hold
// (internal/lock/hold), of freshness (internal/lock/freshness) and of plans (internal/lock/invariant), the
// real webhooks (internal/serve/admission), the real store of holds (internal/lock/lease) and the real
// Observer of groups (internal/cluster/observe) live through days of invented time. Where internal/proof/sim
// explores every history of a small world, this package takes long walks through large ones:
// one history for each seed, and the same history each time.
//
//	users, drains, autoscalers ─┐                      ┌─ watches ─► process-0 (leads) ─┐
//	                            ├─► invented API server┼─ watches ─► process-1 ─────────┼─► requests
//	controllers, kubelets ──────┘        │             └─ watches ─► process-2 ─────────┘
//	                                     └─► witness ─► laws (internal/proof/sim/judge)
//
// A schedule is drawn from its seed: two to five groups in up to three namespaces (once in
// a hundred schedules twenty to forty groups), two or three processes, and two to four
// bursts of what users do and of what goes wrong, hours apart. How long each thing takes
// is drawn from the seed as well.
//
// The API server has one counter of versions, compare-and-swap, preconditions, and a log
// of changes for each kind of object, which watches follow.
//
// Processes. Each has a cache for each kind, which lags by itself: it shows states that
// were never there together (intermediate), states of some time ago, after a restart of
// hours ago (stale), and jumps over states that nobody sees then (unobserved). Each has a
// wall clock that is up to ten minutes wrong, goes at half to twice the pace, and jumps,
// and a steady clock at a pace of its own, by which it sets timers and measures how long
// it has known of a grant. A process dies at any point, sleeps between any two things it
// does, and leads on for a while after another one was elected. Requests get lost, replies
// get lost, requests arrive when their sender has given them up. As in the explorer, the
// deadline of internal/act, which forbids some of that, is not relied on.
//
// A leader's round is that of internal/control/group, its queue, timers and back-off
// are those of internal/control/loop; nothing happens by a tick.
//
// Webhooks, at any process, are the judges of internal/serve/admission: PrepareDownscale,
// PodEvictionPin and PodEviction, with its GroupLocks. Each process has a lease.Store and an
// observe.Observer, over a client that the walk plays. The walk fills the caches of both with
// objects of the API, and answers each request of a live read by itself. All of that code
// blocks, so each review, each live read and each request about a Lease is a task, goroutines
// in the bubble (testing/synctest) of its schedule, and either one of these runs or the loop of
// events. What a process waits for when it dies fails, and its goroutines end. The deadlines of
// reviews and of live reads are not relied on either. Reviews do not share what one of them has
// counted (admission.PodEviction counts a group once for many).
//
// Copies. A round of the leader (process.reconcile) and the order in which it writes (round.run)
// are written anew here, as internal/control/group and internal/act have them; queue, timers
// and back-off, as internal/control/loop has them. A round of a group follows each of its changes,
// whatever an observe.Listener is told of it. No test compares these. What the API server stores
// is written as objects of the API (objects.go); TestSnapshotsShowWhatTheAPIServerHadStored
// compares what the Observer makes of these, field by field, with what was stored.
//
// The judge is the witness with the laws that the explorer has, too. It sees what the API
// server stores, and up to which version it has shown something to whoever decided; never
// what a process believes. Who could not know that a pod is down is excused, as in the
// explorer. Beyond those laws,
//
//   - each plan passes invariant.Check, each yes to an eviction invariant.CheckEviction;
//   - HandsOff: a hold that somebody took by hand is not written over before it expires, at
//     the time of the decision; where clocks are wrong, as its record says it;
//   - TooSoon, where all clocks are true: downscales of two zones lie as far apart as they
//     ask for;
//   - Progress: when faults have ended, every group gets to its goal and stays there: all
//     templates rolled out, all wishes of users fulfilled, nothing held, and every zone
//     remembered;
//   - Rests: nobody writes there any more, and no schedule goes on for ever;
//   - Guarded: who knows that a zone is in its group guards its pods against evictions;
//   - NothingRestored: no note is taken for one of before a restore, and no read for one after
//     it, however late caches are.
//
// Zones leave their group for a while: a StatefulSet is deleted without its pods and applied again,
// or loses its label. Until it is back, the fall of a pod of it counts as long as the Lease remembers
// the zone. Clients evict no pod that the replica which judges the eviction does not guard, such as
// one of a zone that is not remembered. The replica that binds the eviction is drawn by itself: if it
// guards no such pod, the eviction goes on unbound. Pods that a budget alone covers, as far as the
// caches show, are bound, and evicted unless the API server shows that a group remembers their zone.
// All pods of a zone are orphaned at once. The StatefulSet controller adopts them when it looks at
// the zone again, or later: its cache of pods may be late, and it writes the status before.
//
// Left out: pods that are asked to prepare or to wait, resources that are mirrored,
// budgets by partitions, AdmissionReviews as text, zones that are new or never come back,
// other update strategies, Leases that cannot be read. The explorer has some of these.
//
// Chance comes from the seed alone.
package walk
