// Package sim explores every history of a small world in which the real
// planner (internal/plan), the real rules of the hold (internal/lock/hold) and the
// real rule of freshness (internal/lock/freshness) run a rollout, and judges each
// state it reaches.
//
//	user ─┐                    ┌─ cache ─► operator-1 ─┐
//	      ├─► pods, zones ─────┤                       ├─► Lease (compare-and-swap)
//	kubelet, controller, crash ┴─ cache ─► operator-2 ─┘
//
// The world. A move is one thing that one actor does; all orders of moves are
// tried. A cache holds all pods, or all zones, as they once were together, and
// jumps to the present whenever it likes, or first to some time before it where
// the configuration lets caches trickle. An operator's round is observe, plan,
// cover, once freshness finds nothing missing in its caches. Where the caches
// do not suffice, zones and pods are read live by two moves in either order,
// after the Lease where no record of it is known; then every touch, Lease
// write, delete and adoption is a move, deletes in any order. So an operator
// can sleep between any two of them for any time, be killed, and be overtaken;
// when it wakes up it sends its next request, however long its hold has
// expired: the deadline of internal/act, which forbids some of that, is not
// relied on. A request may be lost, be carried out while its
// reply is lost, or arrive when its sender has given it up or is dead. A killed
// operator starts with the caches it had or, where the configuration says so,
// with those of the very beginning. Two operators both start with those, so
// each can sleep and begin while the other one works. Where leadership passes, one of
// them begins rounds at a time, and the former leader goes on with the one it is in.
//
// The judge knows the truth. A wanted pod that is not Ready is down by us if
// a delete of ours found it Ready, until another pod of that name is Ready or
// the ordinal is wanted no longer; else it is down by itself. At each delete
// of a pod that is up,
//
//   - OneZoneAtATime: pods down by us belong to one zone;
//   - NotedFirst: the Lease notes exactly this deed under this zone's rollout;
//   - RestIsWhole: no pod of another zone is down;
//   - WithinBudget: the zone has not more pods down than its budget;
//   - ExactTarget: the pod has the UID and the version that were judged.
//
// RestIsWhole and WithinBudget excuse a pod that is down by itself, unless it was
// down in the view on which the delete was decided, or when this process joined the
// hold (which is what live looks are for), and has been ever since. Beyond deletes,
//
//   - NoLostIntent: a takedown that is under way and can succeed is noted;
//   - HandsOff: a hold that somebody took by hand is not written over before
//     it expires;
//   - NoRepeat: nobody sends again what he did and knows, before he sees it;
//   - AsAsked, ShrinksFirst: no pod is replaced that runs what the view says is
//     asked for, or taken down beside one that is too many;
//   - each plan passes invariant.Check.
//
// Last, Progress: from every state in which nobody paused a zone and all wanted
// revisions can become Ready, the goal can be reached by operators, controllers
// and caches alone.
//
// Versions. Each pod name has a counter of its own, and a view of all pods is
// the vector of them. That says as much as the one counter of the API server:
// rules compare versions of one name, or a version with the one up to which a
// whole view has got; and a view has got to a version if its own number under
// that name is not smaller. Views of one history are ordered. So versions are
// handed to the real rules as numbers in steps of a thousand: what the caches
// show, what the last look showed beyond it, and what neither did; PodsAt and
// ZonesAt lie between (memory.go). What caches have got to in the meantime of
// what a look showed is forgotten, since views do not go back.
//
// Downscales. A user asks for one through admission, makes one without asking, or
// forces a number of replicas, which lockstep notes and sets by itself: then the
// change of the zone is a request like a delete, judged by RestIsWhole and
// OneZoneAtATime, and by NoLostIntent while it is under way. Nobody prepares here.
//
// Evictions. An evictor is somebody who wants a pod to leave: the API server asks the
// webhook of any process, which decides on its caches or, where they lack something or
// do not suffice, reads Lease, zones and pods live, writes the grant by compare-and-swap
// and says yes; then the API server deletes the pod if it has the UID that was judged,
// at any version, some time later or never. Webhooks share caches and knowledge with
// the operator of their process; a process may stand by and only answer. A
// PodDisruptionBudget can refuse what was granted; whoever is refused asks again, and
// waits in the queue where the configuration says so, until his place is lost. A grant
// is known for long enough to be ended (plan.GrantLimit) only once nobody can carry it
// out any more, and as long as a look has begun after that. An eviction that finds a
// pod up is judged like a delete. Partitions are ordinals: there, fewer pods of one
// ordinal are down than the budget says, and nothing of other zones by rollouts or
// downscales.
//
// Zones that leave. A StatefulSet may be deleted without its pods and applied again, or lose
// the label of the group for a while. From the start the Lease remembers all zones. A look that
// finds one of them away reads it and its pods once more, after all others. A zone that left
// with all of its pods misses none of them.
//
// Symmetry. Equal up to renumbering is equal, and so is equal up to the order
// of operators. Zones and pods are not interchangeable: the planner takes them
// in the order of their names. Decisions are remembered by all that planner and
// hold are given (view), answers of freshness by all that it is given
// (question).
//
// Left out: the question to the caches of the moment before a takedown that a
// look decided (ADR 6), which only ever forbids, and that a look may list the
// pods of one zone before those of another.
package sim
