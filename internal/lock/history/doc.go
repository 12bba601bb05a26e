// Package history computes what a group's Lease records of rollouts: when each rollout, zone and pod began
// and ended. The record is for people, so no decision depends on it. It is written together with other
// changes of the Lease. The only exception is a rollout, or the replacement of a pod of a StatefulCluster, that ended while
// no operation had the hold (ADRs 17 and 41).
//
// Each time comes from the Lease or from API objects. Because these have whole seconds, a more precise
// observation of the writing process may replace their times. A recorded time never changes, so that the next
// leader exports the same spans.
//
// The inputs are the snapshot, the previous record, and the hold that is about to be written.
package history
