package plan

import (
	"fmt"
	"hash/fnv"
	"time"
)

// Downscale notes that a zone shrinks: from before the first leaving pod is
// asked to prepare until no pod beyond spec.replicas exists. A hold carries one
// at most (ADR 12).
//
//	none ──► Preparing ──► Admitted ──► in effect ──► none
//	             │             │ the update never came
//	             └──► Undoing ◄┘──────────────────────► none
type Downscale struct {
	Zone       string
	UID        string  // of the StatefulSet
	Version    Version // of the StatefulSet that was judged
	Generation int64   // of that one, or Seen; 0: nobody has said yes
	From       int     // its spec.replicas
	To         int     // what is asked for
	Call       Call    // how those who leave are asked to prepare; the zero Call: nobody is asked
	Asked      string  // who agreed to leave by a downscale of lockstep's own, as Fingerprint tells
	Stage      Stage
	Ours       bool      // lockstep itself makes it; else somebody else asked, or it was seen
	Since      time.Time // when it got to its stage
	Trace      string    // W3C traceparent of the request
}

// EffectiveBy returns the latest time at which the update of a downscale that is in
// effect can have come, as known at a time. That of lockstep's own is sent after its
// note.
func (d Downscale) EffectiveBy(now time.Time) time.Time {
	by := d.Since.Add(RequestLimit)
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

// Stage is how far a downscale has got, as far as somebody has to write it down.
type Stage string

const (
	// Preparing: leaving pods are asked to prepare; nobody has said yes yet.
	Preparing Stage = "preparing"
	// Admitted: a replica has said yes, or the downscale was seen without anybody's yes.
	Admitted Stage = "admitted"
	// Undoing: it will not happen; what was prepared is being undone.
	Undoing Stage = "undoing"
)

const (
	// PrepareLimit is how long a downscale may be prepared before it is given up
	// for whoever began it: longer than the API server waits for a webhook (30 s).
	PrepareLimit = 40 * time.Second
	// UpdateLimit is how long an admitted downscale is waited for before the
	// StatefulSet is touched, so that an update in flight is judged again.
	UpdateLimit = 5 * time.Second
	// CarryLimit is for how long the update of a downscale of lockstep's own may be sent
	// once that is admitted: it is begun within UpdateLimit, and its requests end a
	// margin before the hold could expire.
	CarryLimit = 50 * time.Second
	// AnswerLimit is how long pods are asked to prepare by a downscale of lockstep's
	// own: it leaves time to write down what came of it before it is given up.
	AnswerLimit = 30 * time.Second
	// RetryAfter is how long a zone whose downscale lockstep has given up is left
	// alone, so that others have a turn.
	RetryAfter = 30 * time.Second
)

// SeenInEffect stands for the generation of a downscale that was noted when it was in effect.
const SeenInEffect = -1

// None reports whether nothing is noted.
func (d Downscale) None() bool { return d.Zone == "" }

// Same reports whether two are one downscale, however far it has got.
func (d Downscale) Same(other Downscale) bool {
	return d.Zone == other.Zone && d.UID == other.UID && d.Version == other.Version && d.From == other.From && d.To == other.To
}

// Leaves reports whether a pod of that ordinal leaves by the downscale.
func (d Downscale) Leaves(z Zone, ordinal int) bool {
	return ordinal >= z.Start+d.To && ordinal < z.Start+d.From
}

// TakenBack returns the downscale at the stage in which its preparation is undone.
// One that nobody has said yes to cannot have come into effect.
func (d Downscale) TakenBack(at time.Time) Downscale {
	if d.Stage == Preparing {
		d.Generation = 0
	}
	d.Stage, d.Since = Undoing, at
	return d
}

// takenBack is TakenBack where the StatefulSet is seen as well: one that was overtaken and
// has not happened by now never does, however often it changes until all is undone.
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
	// Awaited: the StatefulSet stands as it was judged; the update can still come.
	Awaited
	// InEffect: the StatefulSet asks for so few replicas, or fewer.
	InEffect
	// Overtaken: the StatefulSet has changed without the downscale, or is gone; the
	// update that was judged can never come.
	Overtaken
)

// DownscaleStatus compares a downscale with its StatefulSet. An update goes through
// admission with the very version it is applied to, so it is a question of
// versions alone.
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

// Shrank reports whether an admitted downscale has come into effect, or may have
// come and been taken back before anybody looked: a StatefulSet whose spec has
// changed at least twice since it was judged shows neither, nor does one that is
// gone or was made anew. One that was seen in effect has come.
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

// Failed reports whether a downscale that ends now did not happen although there was
// time for it.
func (d Downscale) Failed(s Snapshot) bool {
	return !s.Shrank(d) && (d.Stage != Admitted || !s.Now.Before(s.patience(d)))
}

// patience returns when a stage that does not end by itself is ended, or the
// zero time. A time that nobody can have written by now ends it at once.
func (s *Snapshot) patience(d Downscale) time.Time {
	limit := map[Stage]time.Duration{Preparing: PrepareLimit, Admitted: UpdateLimit}[d.Stage]
	switch {
	case limit == 0:
		return time.Time{}
	case d.Since.After(s.Now.Add(limit)):
		return s.Now
	}
	return d.Since.Add(limit)
}

// Fingerprint returns a text by which the hold recognises the pods that agreed to leave;
// empty for none.
func Fingerprint(pods []Pod) string {
	if len(pods) == 0 {
		return ""
	}
	sum := fnv.New64a()
	for _, pod := range pods {
		fmt.Fprintln(sum, pod.UID)
	}
	return fmt.Sprintf("%d %016x", len(pods), sum.Sum64())
}

// StillGivenUp reports whether a downscale that failed at a time is not tried again
// yet. A time that is not to be believed keeps nobody waiting.
func StillGivenUp(at, now time.Time) bool {
	return now.Before(at.Add(RetryAfter)) && !at.After(now.Add(RetryAfter))
}

// String returns the downscale as zone-a from 5 to 3 admitted.
func (d Downscale) String() string {
	return fmt.Sprintf("%s from %d to %d %s", d.Zone, d.From, d.To, d.Stage)
}
