package plan

import "time"

// Hold is the lock of a workload, as its Lease records it, as far as all kinds share it. "The hold" in
// docs/guarantees.md lists its guarantees.
type Hold struct {
	Exists      bool   // the Lease exists
	UID         string // of the Lease
	Version     Version
	Own         bool      // this process wrote the record, and has read the workload live since another process wrote it
	Holder      Holder    // the operation that has the hold; empty if the hold is free
	Since       time.Time // when this holder acquired the hold; zero: the Lease does not say
	Intents     []Intent
	Renewed     time.Time
	Duration    time.Duration
	Transitions int
	Waiting     []Waiting     // operations that were refused, in order of their first refusal
	Trace       string        // W3C traceparent of the rollout
	Rollouts    Rollouts      // for users; read-only, because snapshots share it
	Unrenewed   time.Duration // if the holder is Newer: how long this process has observed no renewal
	Unreadable  string        // why the intents could not be read; lockstep respects such a hold
	Unlabelled  bool          // the Lease lost the label by which lockstep watches Leases
}

// Expired reports whether the hold was not renewed in time. Expiry alone never allows another
// operation to take the hold. If the Lease does not say when the hold expires, it does not
// expire.
func (h Hold) Expired(now time.Time) bool {
	at := h.ExpiresAt()
	return !at.IsZero() && now.After(at)
}

// ExpiresAt returns the time until which the hold counts as fresh. It is the zero time if the
// Lease does not say.
func (h Hold) ExpiresAt() time.Time {
	if h.Renewed.IsZero() || h.Duration <= 0 {
		return time.Time{}
	}
	return h.Renewed.Add(h.Duration)
}

// Lapsed reports whether a foreign holder has expired. Its name then stays on the Lease and
// blocks no operation. The hold of a newer version of lockstep lapses only if the Lease
// records no operation in progress and this process observes no renewal, whatever the renew
// time is. idle says whether what the kind of workload records itself is not in progress.
func (h Hold) Lapsed(now time.Time, idle bool) bool {
	switch {
	case !h.Holder.Foreign() || !h.Expired(now):
		return false
	case h.Holder.Newer():
		return len(h.Intents) == 0 && idle && h.Unrenewed >= h.Duration
	}
	return true
}

// HeldByNewerVersion reports whether an operation of a newer version of lockstep has the hold. Then
// lockstep neither ends nor overwrites the records of that operation. idle is as in Lapsed.
func (h Hold) HeldByNewerVersion(now time.Time, idle bool) bool {
	return h.Holder.Newer() && !h.Lapsed(now, idle)
}
