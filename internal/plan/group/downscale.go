package group

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Downscale records that a zone scales down: from before the first pod is called to prepare
// until no pod beyond spec.replicas exists. A hold has at most one (ADR 12).
//
//	none ──► Preparing ──► Admitted ──► in effect ──► none
//	             │             │ the update never came
//	             └──► Undoing ◄┘──────────────────────► none
type Downscale struct {
	Zone       string
	UID        string       // of the StatefulSet
	Version    plan.Version // of the StatefulSet that was judged
	Generation int64        // of that StatefulSet, or SeenInEffect; 0: the downscale cannot have come into effect
	From       int          // the spec.replicas of that StatefulSet
	To         int          // the requested spec.replicas
	Call       Call         // how the pods to be deleted are called to prepare; the zero Call: no pod is called
	Called     string       // the pods that agreed to leave by a downscale of lockstep's own, as a Fingerprint
	Stage      Stage
	Ours       bool      // lockstep itself makes it; otherwise a client requested it, or lockstep observed it
	Since      time.Time // when it reached its stage
	Trace      string    // W3C traceparent of the request
}

// EffectiveBy returns the latest time at which the update of a downscale that is in effect can
// have arrived, as known at now. lockstep sends the update of its own downscale after the
// record.
func (d Downscale) EffectiveBy(now time.Time) time.Time {
	by := d.Since.Add(plan.RequestLimit)
	if d.Ours {
		by = by.Add(CarryLimit)
	}
	switch {
	case now.Before(d.Since):
		return d.Since
	case now.Before(by):
		return now
	}
	return by
}

// Stage is the recorded progress of a downscale.
type Stage string

const (
	// Preparing: pods are called to prepare; the downscale is not admitted yet.
	Preparing Stage = "preparing"
	// Admitted: a replica has admitted the downscale, or lockstep observed it without an
	// admission.
	Admitted Stage = "admitted"
	// Undoing: the downscale will not happen; its preparation is being undone.
	Undoing Stage = "undoing"
)

const (
	// PrepareLimit is how long a downscale may be in preparation. Then lockstep gives it up,
	// whichever process began it. It is longer than the API server waits for a webhook (30 s).
	PrepareLimit = 40 * time.Second
	// UpdateLimit is how long lockstep waits for the update of an admitted downscale. Then it
	// updates the StatefulSet, so that a pending update is judged again.
	UpdateLimit = 5 * time.Second
	// CarryLimit is how long the update of a downscale of lockstep's own may be sent after the
	// admission. lockstep begins it within UpdateLimit, and its requests end a margin before
	// the hold can expire.
	CarryLimit = 50 * time.Second
	// AnswerLimit is how long a downscale of lockstep's own calls pods to prepare. It leaves
	// time to record the result before lockstep gives up the downscale.
	AnswerLimit = 30 * time.Second
	// RetryDownscaleAfter is how long lockstep does not try again to scale a zone down after it gave up
	// a downscale of the zone. Other operations have their turn meanwhile.
	RetryDownscaleAfter = 30 * time.Second
)

// SeenInEffect is the Generation of a downscale that was in effect already when it was
// recorded.
const SeenInEffect = -1

// None reports whether no downscale is recorded.
func (d Downscale) None() bool { return d.Zone == "" }

// Same reports whether both are the same downscale, at any stage.
func (d Downscale) Same(other Downscale) bool {
	return d.Zone == other.Zone && d.UID == other.UID && d.Version == other.Version && d.From == other.From && d.To == other.To
}

// Leaves reports whether the downscale removes the pod of that ordinal.
func (d Downscale) Leaves(z Zone, ordinal int) bool {
	return ordinal >= z.Start+d.To && ordinal < z.Start+d.From
}

// TakenBack returns the downscale at the stage Undoing. A downscale that was never admitted
// cannot have come into effect.
func (d Downscale) TakenBack(at time.Time) Downscale {
	if d.Stage == Preparing {
		d.Generation = 0
	}
	d.Stage, d.Since = Undoing, at
	return d
}

// takenBack is TakenBack with a view of the StatefulSet. An overtaken downscale that has not
// happened by now never happens, however often the StatefulSet changes until all is undone.
func (s *Snapshot) takenBack(d Downscale) Downscale {
	if s.DownscaleStatus(d) == Overtaken && !s.Shrank(d) {
		d.Generation = 0
	}
	return d.TakenBack(s.Now)
}

// DownscaleStatus is what a snapshot shows of a downscale.
type DownscaleStatus int

const (
	// Unseen: the view is older than the downscale.
	Unseen DownscaleStatus = iota
	// Awaited: the StatefulSet is unchanged since it was judged; the update can still arrive.
	Awaited
	// InEffect: the StatefulSet asks for at most To replicas.
	InEffect
	// Overtaken: the StatefulSet has changed without the downscale, or no longer exists; the
	// update that was judged can never arrive.
	Overtaken
)

// DownscaleStatus compares a downscale with its StatefulSet. The API server applies an update
// only to the version that it was admitted for, so versions are sufficient.
func (s *Snapshot) DownscaleStatus(d Downscale) DownscaleStatus {
	z, exists := s.Zone(d.Zone)
	switch {
	case s.behindDownscale(d):
		return s.courseOfRestored(d)
	case !exists, z.UID != d.UID:
		return Overtaken
	case z.Replicas <= d.To:
		return InEffect
	case z.Version == d.Version:
		return Awaited
	}
	return Overtaken
}

// Shrank reports whether an admitted downscale has come into effect, or may have come into
// effect and been reverted before an observation. The latter is assumed if the spec of the
// StatefulSet has changed at least twice since it was judged, or if the StatefulSet was deleted
// or created again. A downscale that was recorded in effect has come into effect.
func (s *Snapshot) Shrank(d Downscale) bool {
	switch s.DownscaleStatus(d) {
	case InEffect:
		return true
	case Overtaken:
		z, exists := s.Zone(d.Zone)
		gone := !exists || z.UID != d.UID
		saidYes := d.Stage != Preparing && d.Generation > 0
		return d.Generation == SeenInEffect || (saidYes && (gone || z.Generation >= d.Generation+2))
	case Unseen, Awaited:
	}
	return false
}

// failed reports whether a downscale that ends now did not happen although it had enough time.
func (s *Snapshot) failed(d Downscale) bool {
	return !s.Shrank(d) && (d.Stage != Admitted || !s.Now.Before(s.stageDeadline(d)))
}

// stageDeadline returns when the current stage times out, or the zero time if it has no limit. If
// the recorded time is too far in the future, the stage times out at once.
func (s *Snapshot) stageDeadline(d Downscale) time.Time {
	limit := map[Stage]time.Duration{Preparing: PrepareLimit, Admitted: UpdateLimit}[d.Stage]
	switch {
	case limit == 0:
		return time.Time{}
	case d.Since.After(s.Now.Add(limit)):
		return s.Now
	}
	return d.Since.Add(limit)
}

// Fingerprint returns a text by which the hold recognizes the pods that agreed to leave; empty
// for no pods.
func Fingerprint(pods []plan.Pod) string {
	if len(pods) == 0 {
		return ""
	}
	sum := fnv.New64a()
	for _, pod := range pods {
		fmt.Fprintln(sum, pod.UID)
	}
	return fmt.Sprintf("%d %016x", len(pods), sum.Sum64())
}

// stillGivenUp reports whether a downscale that failed at a time is not tried again yet. A time
// too far in the future causes no wait.
func stillGivenUp(at, now time.Time) bool {
	return now.Before(at.Add(RetryDownscaleAfter)) && !at.After(now.Add(RetryDownscaleAfter))
}

// String returns the downscale as zone-a from 5 to 3 admitted.
func (d Downscale) String() string {
	return fmt.Sprintf("%s from %d to %d %s", d.Zone, d.From, d.To, d.Stage)
}
