package group

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Hold is the lock of a rollout group: what all kinds of workloads share, and the part of the group.
type Hold struct {
	plan.Hold
	Part
}

// Part is what the Lease of a rollout group records beyond what all kinds share.
type Part struct {
	Members      []Member               // the zones that the group had at the last write
	Downscale    Downscale              // in progress in the holder's zone; usually none
	Downscaled   map[string]time.Time   // when each zone was last scaled down, as far as known
	GivenUp      map[string]time.Time   // when lockstep gave up a failed downscale of its own, by zone
	Acknowledged map[string]DelayRecord // the pods that acknowledged a delayed downscale, by zone
}

// HoldOf returns the lock of a group from what its Lease records.
func HoldOf(r plan.Record) Hold { return Hold{r.Hold, PartOf(r.Part)} }

// PartOf returns the part of a group, which is empty if a Lease records none.
func PartOf(p plan.Part) Part {
	part, _ := p.(Part)
	return part
}

// Record returns what the Lease records.
func (h Hold) Record() plan.Record { return plan.Record{Hold: h.Hold, Part: h.Part} }

// InProgress implements plan.Part: a downscale is in progress.
func (p Part) InProgress() plan.Holder {
	if p.Downscale.None() {
		return ""
	}
	return plan.DownscaleOperation.For(p.Downscale.Zone)
}

// Lapsed is plan.Hold.Lapsed. A group with a downscale is not idle.
func (h Hold) Lapsed(now time.Time) bool { return h.Hold.Lapsed(now, h.Downscale.None()) }

// HeldByNewerVersion is plan.Hold.Respected.
func (h Hold) HeldByNewerVersion(now time.Time) bool {
	return h.Hold.HeldByNewerVersion(now, h.Downscale.None())
}
