// Package sim explores every history of a small world in which the real
// planner (internal/plan), the real rules of the hold (internal/hold) and the
// real freshness check run a rollout, and judges each state it reaches.
//
//	user ─┐                    ┌─ cache ─► operator-1 ─┐
//	      ├─► pods, zones ─────┤                       ├─► Lease (compare-and-swap)
//	kubelet, controller, crash ┴─ cache ─► operator-2 ─┘
//
// The world. A move is one thing that one actor does; all orders of moves are
// tried. A cache holds all pods, or all zones, as they once were together, and
// jumps to the present whenever it likes, or first to some time before it where
// the configuration lets caches trickle. An operator's round is observe, plan,
// cover, once its caches show what it wrote itself and what its last live look
// showed. Where the caches do not suffice, Lease, zones and pods are read live
// by three moves; then every touch, Lease write, delete and adoption is a move.
// So an operator can be stopped between any two of them for any time, be
// killed, and be overtaken. A request may be carried out while its reply is
// lost. A killed operator starts with the caches it had or, where the
// configuration says so, with those of the very beginning.
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
// RestIsWhole and WithinBudget excuse a pod that is down by itself while the
// view on which the delete was decided shows it in order, unless it was down
// already when this operator joined the hold (which is what live looks are
// for). In every state NoLostIntent holds: a takedown that is under way and
// can still succeed is noted in the Lease. And each plan passes
// invariant.Check. Last, Progress: from every state in which nobody paused a
// zone and all wanted revisions can become Ready, the goal can be reached by
// operators, controllers and caches alone.
//
// Versions. Each pod name has a counter of its own; rules compare versions of
// one pod only, or ask whether a whole view is newer, and both are kept. Equal
// up to renumbering is equal, and so is equal up to the order of operators.
//
// Beside the house: it sees floors 0 to 2, only tests see it; no I/O, no clock.
package sim
