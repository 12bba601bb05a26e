// Package sim explores every history of a small world and judges each state that it reaches. In
// this world the real planner (internal/plan), the real rules of the hold (internal/lock/hold)
// and the real rule of freshness (internal/lock/freshness) run a rollout.
//
//	user ─┐                    ┌─ cache ─► operator-1 ─┐
//	      ├─► pods, zones ─────┤                       ├─► Lease (compare-and-swap)
//	kubelet, controller, crash ┴─ cache ─► operator-2 ─┘
//
// The world. A move is one action of one actor. The explorer tries all orders of moves. A cache
// contains all pods, or all zones, as they were at one time. It jumps to the present at any
// time; if the configuration lets caches trickle, it can first jump to a time in between. If
// freshness misses nothing in an operator's caches, the operator begins a round: observe, plan,
// record, act. If the caches do not suffice, the operator reads zones and pods live in two
// moves, in either order. Before that it reads the Lease if it knows no record, or if the
// record contains a downscale. Then every touch, Lease write, delete and adoption is a move,
// and deletes come in any order. So between any two of them an operator can sleep for any time,
// be killed, or be overtaken. When it wakes up, it sends its next request, even if its hold has
// expired long ago: the explorer does not rely on the deadline of internal/act, which prevents
// some of these requests. A request can be lost, its reply can be lost after it was carried
// out, or it can arrive after its sender gave up or died. A killed operator starts with the
// caches that it had or, if the configuration says so, with the first ones. Two operators both
// start with the first caches, so each of them can sleep and begin while the other one works.
// If leadership passes, one operator at a time begins rounds, and the former leader continues
// its current round.
//
// The judge knows the true state. A wanted pod that is not Ready is down by us if a delete of
// lockstep found it Ready. That ends when another pod of that name is Ready or the ordinal is
// no longer wanted. Otherwise the pod is down by itself. At each delete of a pod that is up:
//
//   - OneZoneAtATime: pods that are down by us belong to one zone;
//   - NotedFirst: the Lease records exactly this delete under this zone's rollout;
//   - RestIsWhole: no pod of another zone is down;
//   - WithinBudget: the zone has no more pods down than its budget;
//   - ExactTarget: the pod has the UID and the version that were judged.
//
// RestIsWhole and WithinBudget excuse a pod that is down by itself, unless two conditions hold:
// it was down in the view on which the delete was decided, or when this process joined the hold
// (live reads serve this purpose), and it has been down ever since. Beyond deletes:
//
//   - NoLostIntent: a disruption that is under way and can succeed is recorded;
//   - HandsOff: a hold that a user acquired manually is not overwritten before it expires;
//   - NoRepeat: no process repeats a request that it knows was carried out, before it sees the
//     effect;
//   - AsAsked, ShrinksFirst: no pod is replaced that has the update revision in the view, or
//     disrupted while its zone has a surplus pod;
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
// request like a delete. RestIsWhole and OneZoneAtATime judge it, and NoLostIntent judges it
// while it is under way. No pod prepares for a downscale here.
//
// Evictions. An evictor is a client that evicts a pod. The API server calls the webhook of any
// process. The webhook decides on its caches. If they lack something or do not suffice, it
// reads Lease, zones and pods live. Then it writes the grant by compare-and-swap and allows the
// eviction. Later, or never, the API server deletes the pod if it has the UID that was judged,
// at any version. Webhooks share caches and knowledge with the operator of their process; a
// process on standby only answers. A PodDisruptionBudget can refuse a granted eviction. A
// refused client retries, and waits in the queue if the configuration says so, until its place
// is lost. A grant becomes old enough to be ended (plan.GrantLimit) only once no API server can
// carry it out any more; a live read counts only if it began after that. An eviction of a pod
// that is up is judged like a delete. Partitions are ordinals. With partitions, no more pods of
// one ordinal are down than the budget allows, and no pods of other zones are down by rollouts
// or downscales.
//
// Zones that leave. A StatefulSet can be deleted without its pods and applied again, or lose
// the label of the group for a time. The Lease remembers all zones from the start. If a live
// read finds that one of them has left, it reads that zone and its pods once more, after all
// others. A zone that left with all of its pods has no missing pods.
//
// Symmetry. Worlds that are equal up to renumbering, or up to the order of operators, are
// equal. Zones and pods are not interchangeable, because the planner sorts them by name. The
// explorer caches decisions by all inputs of the planner and the hold (view), and answers of
// freshness by all of its inputs (question).
//
// Not covered: before a disruption that a live read decided, the real operator checks its
// caches once more (ADR 6), which can only forbid the disruption; and a live read can list the
// pods of one zone before those of another.
package sim
