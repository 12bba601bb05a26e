// Package sim explores every history of a small world and checks each state that it reaches. In
// this world the real planner (internal/plan), the real rules of the hold (internal/lock/hold)
// and the real rule of freshness (internal/lock/freshness) run a rollout.
//
//	user ─┐                    ┌─ cache ─► operator-1 ─┐
//	      ├─► pods, zones ─────┤                       ├─► Lease (compare-and-swap)
//	kubelet, controller, crash ┴─ cache ─► operator-2 ─┘
//
// The world. A move is one action of one actor. The explorer tries all orders of moves. A cache
// contains all pods, or all zones, as they were at one time. It can advance to the present at any
// time; with Config.StepwiseCaches, it can first advance to a time in between. If the caches of an
// operator lack nothing that freshness knows, the operator begins a round: observe, plan, record,
// act. If the caches do not suffice, the operator reads zones and pods live in two moves, in
// either order. Before that it reads the Lease if it knows no record, or if the record contains a
// downscale. Then every update, Lease write, delete and adoption is a move, and the order of
// deletes is arbitrary. So between any two requests, any time can pass, the operator can die, and
// other actors can act. After that, the operator sends its next request even if its hold expired
// long ago: the explorer does not rely on the deadline of internal/act, which prevents some of
// these requests. A request can be lost, its reply can be lost after it was carried out, or it can
// arrive after its sender gave up or died. An operator that died restarts with the caches that it
// had or, with Config.OldCaches, with the caches of the start. Two operators both have the caches
// of the start at first, so each of them can begin its first round while the other one works. If
// leadership changes, only the new leader begins rounds, and the former leader continues its
// current round.
//
// The judge uses the true state. A wanted pod that is not Ready is down by lockstep if lockstep
// deleted it while it was Ready. That ends when another pod of that name is Ready or the ordinal is
// no longer wanted. Otherwise the pod is down by itself. These rules apply to each delete of a pod
// that is up:
//
//   - OneZoneAtATime: pods that are down by lockstep belong to one zone;
//   - RecordedFirst: the Lease records exactly this delete under this zone's rollout;
//   - OtherZonesAvailable: no pod of another zone is down;
//   - WithinBudget: the zone has no more pods down than its budget;
//   - ExactTarget: the pod has the UID and the version of the decision.
//
// OtherZonesAvailable and WithinBudget ignore a pod that is down by itself and that the process could not
// know to be down. The process could know it if the pod has been down ever since the view of the
// decision, or ever since this process joined the hold, for which it reads live. Further rules:
//
//   - NoLostIntent: a disruption that is in flight and can succeed is recorded;
//   - ManualHoldKept: a hold that a user acquired manually is not overwritten before it expires;
//   - NoRepeat: no process repeats a request that it knows was carried out, before its caches show
//     the effect;
//   - OutdatedOnly: no pod is replaced that has the update revision in the view;
//   - SurplusFirst: no pod is disrupted while its zone has a surplus pod in the view;
//   - each plan passes invariant.Check.
//
// Finally, Progress: if no user paused a zone and pods of all wanted revisions can become
// Ready, the goal can be reached from that state by operators, controllers and caches alone.
//
// Versions. Each pod name has a counter of its own, and a view of all pods is the vector of
// these counters. That is equivalent to the single counter of the API server. The rules compare
// versions of one name, or a version with the version up to which a full view is current; and a
// view includes a version if its own version of that name is not smaller. Views of one history
// are ordered. So the real rules receive versions as numbers in steps of a thousand: versions
// that the caches show, versions that only the last live read shows, and later ones. PodsAt and
// ZonesAt lie between them (memory.go). The explorer forgets the part of a live read that the
// caches show by now, because views never go back.
//
// Downscales. A user requests one through admission, makes one without admission, or forces a
// number of replicas, which lockstep records and sets itself. Then the change of the zone is a
// request like a delete. OtherZonesAvailable and OneZoneAtATime apply to it when it is carried out, and
// NoLostIntent while it is in flight. No pod prepares for a downscale here.
//
// Evictions. A client evicts a pod. The API server calls the webhook of any process. The webhook
// decides on its caches. If they lack something or do not suffice, it reads Lease, zones and pods
// live. Then it records the grant by compare-and-swap and allows the eviction. Later, or never, the
// API server deletes the pod if it has the UID that the webhook reviewed, at any version. Webhooks
// share caches and knowledge with the operator of their process; a process on standby only answers.
// A PodDisruptionBudget can refuse a granted eviction. A refused client retries and, with
// Config.Queue, waits in the queue until it loses its place. A grant becomes old enough to be ended
// (plan.GrantLimit) only once no API server can carry out the eviction any more; a live read counts
// only if it began after that. The rules for deletes apply to the eviction of a pod that is up.
// Partitions are ordinals. With partitions, no more pods of one ordinal are down than the budget
// allows, and no pods of other zones are down by rollouts or downscales.
//
// Zones that leave. A StatefulSet can be deleted without its pods and applied again, or lose
// the label of the group for a time. The Lease remembers all zones from the start. If a live
// read finds that one of them has left, it reads that zone and its pods once more, after all
// others. A zone that left with all of its pods has no missing pods.
//
// Symmetry. Worlds that are equal up to renumbering, or up to the order of operators, are
// equal. Zones and pods are not interchangeable, because the planner sorts them by name. The
// explorer caches decisions by all inputs of the planner and the hold (view), and answers of
// freshness by all of its inputs (freshnessInput).
//
// Not covered: before a disruption that a live read decided, the real operator checks its
// caches once more (ADR 6), which can only forbid the disruption; and a live read can list the
// pods of one zone before those of another.
package sim
