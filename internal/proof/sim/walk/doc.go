// Package walk runs the real planner (internal/plan), the real rules of the hold (internal/lock/hold), of
// freshness (internal/lock/freshness) and of plans (internal/lock/invariant), the real webhooks
// (internal/serve/admission), the real store of holds (internal/lock/lease) and the real Observer of groups
// (internal/cluster/observe) for days of simulated time. internal/proof/sim explores every history of a
// small world. This package runs long walks through large worlds: one history for each seed, and the same
// history each time.
//
//	users, drains, autoscalers ─┐                       ┌─ watches ─► process-0 (leads) ─┐
//	                            ├─► simulated API server┼─ watches ─► process-1 ─────────┼─► requests
//	controllers, kubelets ──────┘        │              └─ watches ─► process-2 ─────────┘
//	                                     └─► history ─► rules (internal/proof/sim/judge)
//
// A schedule is drawn from its seed: two to five groups in up to three namespaces (in one of a hundred
// schedules twenty to forty groups), two or three processes, and two to four bursts of user actions and
// faults, hours apart. The seed also determines how long each operation takes.
//
// The API server has one counter of versions, compare-and-swap, preconditions, and a log of changes for each
// kind of object, which watches follow.
//
// Processes. Each process has a cache for each kind, and each cache has a lag of its own. So the caches
// together show states that never existed at one time (intermediate). They show old states, after a restart
// hours old (stale), and skip states (unobserved). The wall clock of a process is up to ten minutes wrong,
// runs at half to twice the true rate, and jumps. Its steady clock has a rate of its own; the process uses
// it for timers and to measure how long it has known a grant. A process dies at any time, sleeps between any
// two actions, and continues to lead for a time after another process was elected. Requests are lost,
// replies are lost, and requests arrive after their sender gave up. As in the explorer, the walk does
// not rely on the deadline of internal/act, which prevents some of these cases.
//
// A leader's reconcile is that of internal/control/groups. Its queue, timers and back-off are those of
// internal/control/loop. No periodic tick drives it.
//
// Webhooks, in any process, are those of internal/serve/admission: PrepareDownscale, PodEvictionPin and
// PodEviction, with its GroupLocks. Each process has a lease.Store and an observe.Observer, with a client
// that the walk simulates. The walk fills the caches of both with API objects, and answers each request of a
// live read itself. All of that code blocks. So each review, each live read and each request about a Lease
// is a task: goroutines in the bubble (testing/synctest) of its schedule. Either one task or the event loop
// runs at a time. If a process dies, its pending requests fail, and its goroutines end. The walk
// does not rely on the deadlines of reviews and of live reads either. Reviews do not share counts
// (admission.PodEviction counts a group once for several reviews).
//
// Copies. The walk reimplements the following, and a test compares each copy with the original:
//
//   - a round of the leader (process.reconcile), as in internal/control/groups: TestARoundDecidesAsTheController. Reports,
//     and the order of requests after some were refused, are not copied;
//   - the order of its writes (round.execute), as in internal/act: TestARoundWritesInTheOrderOfTheExecutor;
//   - queue, timers and back-off (worker), as in internal/control/loop: TestAWorkerReconcilesWhenTheLoopDoes. The limit of
//     retries of all groups together is not copied;
//   - when a process that does not lead forgets a group (opt_out.go), as in internal/operator, which has a test of its own
//     (TestARecordIsNotThisProcesssOwnOnceItHasForgottenTheLiveRead). What it forgets then is decided by freshness.Log;
//   - the objects of the API server, written as API objects (objects.go): TestSnapshotsMatchStoredObjects compares what the
//     Observer derives from them, field by field, with the stored objects.
//
// Each change of a group leads to a round of the group; the walk uses no notifications of an observe.Listener.
//
// The judge is a history of each group (groupHistory) with the rules of the explorer. The history uses the
// stored objects, and the version up to which the API server has shown them to each process. It never uses
// the memory of a process. As in the explorer, a pod that is down by itself does not count if the process
// could not know that it is down. Further rules:
//
//   - each plan passes invariant.Check, each allowed eviction invariant.CheckEviction;
//   - ManualHoldKept: a hold that a user acquired manually is not overwritten before it expires, at the time of the
//     decision; if clocks are wrong, at the time in the record;
//   - TooSoon, if all clocks are true: the time between downscales of two zones is at least the minimum
//     time that each of them requires;
//   - Progress: after faults have ended, every group reaches its goal and stays there: all templates are
//     rolled out, no user request is pending, the hold is free, and every zone is remembered;
//   - Quiet: at the goal no process plans or writes, and every schedule ends;
//   - Guarded: a process that knows that a zone is in its group reviews the evictions of its pods;
//   - NothingRestored: lockstep never treats a record as one from before a restore, or a read as one after a
//     restore, even if caches lag far behind.
//
// Zones leave their group for a time: a StatefulSet is deleted without its pods and applied again, or loses
// its label. Until the zone returns, its pods that are down count as long as the Lease remembers the zone. If
// the replica that reviews an eviction does not guard the pod, for example because its zone is not
// remembered, the client does not evict the pod. The replica that binds the eviction is drawn separately: if
// it does not guard the pod, the eviction continues unbound. Evictions of pods that only a budget covers, as
// far as the caches show, are bound, and carried out unless the API server shows that a group remembers the
// zone of the pod. All pods of a zone are orphaned at once. The StatefulSet controller adopts them when it
// processes the zone again, or later: its cache of pods can lag, and it writes the status first.
//
// Bare pods are pods that users create with the names of pods of a zone. They have no controller and no
// pod-name label, and the selector of the zone does not match them. Until the name is free again, the zone
// lacks the pod, and the StatefulSet controller creates no pod with a higher ordinal. A user deletes the
// bare pod, or gives it the labels of the zone. In the second case the StatefulSet controller adopts it, and
// adds the pod-name label by another write. Clients evict by name. If a process has seen a bare pod with the
// name, it may allow the eviction without a review, and the rules apply to the pod that has the name when
// the eviction is carried out.
//
// A user gives a pod of a zone, or a bare pod, the labels of another zone. The StatefulSet controller releases such a pod:
// it has no controller from then on, and serves as an orphan that its zone does not adopt. Later it gets the labels of its
// zone again and is adopted.
//
// A namespace opts out and in again, or all zones of a group lose their label at once. Then processes forget what they know
// of the group, as internal/operator does. The history forgets nothing: what a live read has shown still counts. While a
// namespace has opted out, clients neither scale zones down nor evict pods.
//
// Not covered: pods that prepare or delay a downscale, resources that are
// mirrored, budgets by partitions, AdmissionReviews as text, zones that are new or never return, other update
// strategies, Leases that cannot be read. The explorer covers some of these.
//
// All randomness comes from the seed.
package walk
