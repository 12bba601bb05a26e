package group

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Hold is the lock of a rollout group: what all kinds of workloads share, and the record of the group.
type Hold struct {
	plan.Hold
	Record
}

// Record is what the Lease of a rollout group records beyond what all kinds share.
type Record struct {
	Members      []Member               // the zones that the group had at the last write
	Downscale    Downscale              // in progress in the holder's zone; usually none
	Downscaled   map[string]time.Time   // when each zone was last scaled down, as far as known
	GivenUp      map[string]time.Time   // when lockstep gave up a failed downscale of its own, by zone
	Acknowledged map[string]DelayRecord // the pods that acknowledged a delayed downscale, by zone
}

// Lapsed is plan.Hold.Lapsed. A group with a downscale is not idle.
func (h Hold) Lapsed(now time.Time) bool { return h.Hold.Lapsed(now, h.Downscale.None()) }

// Respected is plan.Hold.Respected.
func (h Hold) Respected(now time.Time) bool { return h.Hold.Respected(now, h.Downscale.None()) }

// Recorder is an action that changes what the Lease records about rollout groups.
type Recorder interface {
	plan.Action
	// Record changes the record that is written next. It must not change memory that the previous record
	// uses.
	Record(next *Record)
}
