package group

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// A live view is at least as new as every record that was known before its requests were sent. So if
// it seems to be behind, the record belongs to another history of the cluster: its Lease, or all of
// etcd, was restored from a backup (ADR 23). A cached view may only be late, so it is only a reason
// to read live.

// lateAfter is how long caches may be behind a record before lockstep reads live.
const lateAfter = 10 * time.Second

// behindIntent reports whether the view has not reached the version of an intent.
func (s *Snapshot) behindIntent(i plan.Intent) bool {
	pod, present := s.Pod(i.Pod)
	switch {
	case !present:
		return s.PodsAt < i.Version
	case pod.UID == i.UID:
		return pod.Version < i.Version
	}
	return pod.Version <= i.Version
}

// statusOfRestored returns the status of an intent that a live view has not reached. If the recorded
// UID does not exist, a request that requires it cannot succeed. If it exists, etcd was restored,
// and a request from before the restore may be in progress until the API server gives up.
func (s *Snapshot) statusOfRestored(i plan.Intent) plan.IntentStatus {
	pod, present := s.Pod(i.Pod)
	if present && pod.UID == i.UID && (pod.Phase == plan.Terminating || i.Known < plan.GrantLimit) {
		return plan.Open
	}
	return plan.Obsolete
}

// mayBeLate reports whether the view is cached, has not reached an intent, and may still reach it.
func (b *groupState) mayBeLate(i plan.Intent) bool {
	return !b.Live && b.behindIntent(i) && i.Known < b.patienceWithIntent(i)
}

// patienceWithIntent returns how long an intent that caches have not reached must be known before a
// live read may end it.
func (b *groupState) patienceWithIntent(i plan.Intent) time.Duration {
	if pod, present := b.Pod(i.Pod); i.Unbound || present && pod.UID == i.UID {
		return plan.GrantLimit
	}
	return lateAfter
}

// behindDownscale reports whether the view has not reached the version of a downscale.
func (s *Snapshot) behindDownscale(d Downscale) bool {
	z, exists := s.Zone(d.Zone)
	return !exists && s.ZonesAt < d.Version || exists && z.Version < d.Version
}

// courseOfRestored returns the status of a downscale that the view has not reached. If the recorded
// UID does not exist, the update can never take effect. If it exists, the update can no longer take
// effect once no request from before the restore can be in progress.
func (s *Snapshot) courseOfRestored(d Downscale) DownscaleStatus {
	z, exists := s.Zone(d.Zone)
	switch {
	case !s.Live:
		return Unseen
	case !exists || z.UID != d.UID:
		return Overtaken
	case z.Replicas <= d.To:
		return InEffect
	case s.Now.Before(s.patienceWithDownscale(d)):
		return Unseen
	}
	return Overtaken
}

// patienceWithDownscale returns when a live read may end a downscale that the view has not reached.
// A recorded time that is too far in the future ends the wait at once.
func (s *Snapshot) patienceWithDownscale(d Downscale) time.Time {
	limit := lateAfter
	if z, exists := s.Zone(d.Zone); exists && z.UID == d.UID {
		limit = plan.RequestLimit + CarryLimit
	}
	if d.Since.After(s.Now.Add(limit)) {
		return s.Now
	}
	return d.Since.Add(limit)
}

// endRestored ends a downscale that was recorded before a restore. If pods may have been called to
// prepare, the downscale is recorded again at the present version of the zone, so that the pods are
// notified to stay. On caches, it is only a reason to read live.
func (b *groupState) endRestored(d Downscale) []plan.Action {
	z, exists := b.zoneState(d.Zone)
	switch {
	case !b.Live && b.Now.Before(b.patienceWithDownscale(d)), b.Live && b.DownscaleStatus(d) == Unseen:
		return nil
	case !b.Live, b.ended, !exists:
		return []plan.Action{EndDownscale{Downscale: d, Restored: true}}
	}
	d.UID, d.Version, d.Generation, d.Ours = z.UID, z.Version, 0, false
	return []plan.Action{RecordDownscale{Downscale: d.TakenBack(b.Now), Because: reason.HoldRestored}}
}

// restoredDue returns when to read live because the view has not reached the records of a zone, or
// the zero time.
func (b *groupState) restoredDue(zone string) time.Time {
	var due time.Time
	for _, intent := range b.Hold.Intents {
		if intent.Zone == zone && b.behindIntent(intent) {
			due = earlier(due, b.ahead(b.Now.Add(b.patienceWithIntent(intent)-intent.Known)))
		}
	}
	if d := b.Hold.Downscale; d.Zone == zone && !d.None() && b.behindDownscale(d) {
		due = earlier(due, b.ahead(b.patienceWithDownscale(d)))
	}
	return due
}
