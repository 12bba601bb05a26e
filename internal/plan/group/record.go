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

// Idle implements Part.
func (r Record) Idle() bool { return r.Downscale.None() }

// HoldOf returns the lock of a rollout group, of which h is what was read.
func HoldOf(h plan.Hold) Hold {
	record, _ := h.Part.(Record)
	h.Part = nil
	return Hold{h, record}
}

// Shared returns the lock as all kinds know it.
func (h Hold) Shared() plan.Hold {
	h.Hold.Part = h.Record
	return h.Hold
}

// Lapsed is plan.Hold.Lapsed.
func (h Hold) Lapsed(now time.Time) bool { return h.Shared().Lapsed(now) }

// Respected is plan.Hold.Respected.
func (h Hold) Respected(now time.Time) bool { return h.Shared().Respected(now) }

// Recorder is an action that changes what the Lease records about rollout groups.
type Recorder interface {
	plan.Action
	// Record changes the record that is written next. It must not change memory that the previous record
	// uses.
	Record(next *Record)
}
