package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Hold is the group's lock, as its Lease records it. "The hold" in docs/guarantees.md lists
// its guarantees.
type Hold struct {
	Exists       bool   // the Lease exists
	UID          string // of the Lease
	Version      Version
	Own          bool      // this process wrote the record, and has read the group live since another process wrote it
	Holder       Holder    // the operation that has the hold; empty if the hold is free
	Since        time.Time // when this holder acquired the hold; zero: the Lease does not say
	Intents      []Intent
	Renewed      time.Time
	Duration     time.Duration
	Transitions  int
	Members      []Member               // the zones that the group had at the last write
	Downscale    Downscale              // in progress in the holder's zone; usually none
	Waiting      []Waiting              // operations that were refused, in order of their first refusal
	Downscaled   map[string]time.Time   // when each zone was last scaled down, as far as known
	GivenUp      map[string]time.Time   // when lockstep gave up a failed downscale of its own, by zone
	Acknowledged map[string]DelayRecord // the pods that acknowledged a delayed downscale, by zone
	Trace        string                 // W3C traceparent of the rollout
	Rollouts     Rollouts               // for users; read-only, because snapshots share it
	Unrenewed    time.Duration          // if the holder is Newer: how long this process has observed no renewal
	Unreadable   string                 // why the intents could not be read; lockstep respects such a hold
	Unlabelled   bool                   // the Lease lost the label by which lockstep watches Leases
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
// records no intent and no downscale and this process observes no renewal, whatever the renew
// time is.
func (h Hold) Lapsed(now time.Time) bool {
	switch {
	case !h.Holder.Foreign() || !h.Expired(now):
		return false
	case h.Holder.Newer():
		return len(h.Intents) == 0 && h.Downscale.None() && h.Unrenewed >= h.Duration
	}
	return true
}

// Respected reports whether an operation of a newer version of lockstep has the hold. Then
// lockstep neither ends nor overwrites the records of that operation.
func (h Hold) Respected(now time.Time) bool { return h.Holder.Newer() && !h.Lapsed(now) }

// Holder names an operation in a zone, never a process: "rollout/zone-a".
type Holder string

// Operation is the first part of a Holder.
type Operation string

// Operations of lockstep.
const (
	RolloutOperation   Operation = "rollout"
	DownscaleOperation Operation = "downscale"
	EvictionOperation  Operation = "eviction"
)

// For returns the holder of an operation in a zone.
func (o Operation) For(zone string) Holder { return Holder(string(o) + "/" + zone) }

// Free reports whether no operation has the hold.
func (h Holder) Free() bool { return h == "" }

// Operation returns the holder's operation.
func (h Holder) Operation() Operation {
	operation, _, _ := strings.Cut(string(h), "/")
	return Operation(operation)
}

// Zone returns the holder's zone.
func (h Holder) Zone() string {
	_, zone, _ := strings.Cut(string(h), "/")
	return zone
}

// Foreign reports whether the holder is not an operation of this version of lockstep, such as
// manual/maintenance. lockstep respects a foreign holder until it lapses.
func (h Holder) Foreign() bool {
	switch h.Operation() {
	case RolloutOperation, DownscaleOperation, EvictionOperation:
		return false
	}
	return !h.Free()
}

// Newer reports whether the holder is an operation of a newer version of lockstep, which this
// version does not know. This version cannot evaluate its intents.
func (h Holder) Newer() bool { return slices.Contains(newerOperations, h.Operation()) }

// newerOperations are the operations that only newer versions of lockstep have.
var newerOperations = []Operation{"progressive", "statefulcluster", "replicated"}

// Intent records a pod that is about to be deleted or evicted, or whose replacement is not
// available yet. It is written to the Lease before the act.
type Intent struct {
	Zone    string
	Pod     string
	UID     string
	Version Version // the resourceVersion that lockstep's delete requires
	Cause   reason.Code
	Since   time.Time
	Trace   string        // W3C traceparent of the disruption
	Known   time.Duration // how long this process has known of it

	// Overtook: an operation of another zone had waited longer, and could not continue anyway.
	Overtook bool

	// Of a granted eviction, which another client carries out:
	Unbound   bool   // no precondition ties it to the pod with that UID: it deletes the pod that has the name by then
	Partition string // the pod's partition, if partitions count
}

// Granted reports whether the intent is a granted eviction. The eviction requires the UID,
// unless it is unbound. Unlike a delete by lockstep, it requires no resourceVersion.
func (i Intent) Granted() bool { return i.Cause == reason.EvictionGranted }

// MayTake reports whether a granted eviction may still delete the pod with the recorded name
// that has this UID and version.
func (i Intent) MayTake(uid string, version Version) bool {
	return i.Granted() && (i.Unbound || !i.Succeeded(uid, version))
}

// RequestLimit is the longest time that the API server works on a request, including
// admission. An admitted request takes effect within that time, or never.
const RequestLimit = 34 * time.Second

// GrantLimit is how long a process must have known of a granted eviction before a live read
// may end it. It is longer than RequestLimit, even by a clock that runs twice as fast as it
// should.
const GrantLimit = 70 * time.Second

// Lapsed reports whether a granted eviction that has not happened yet can no longer happen.
func (i Intent) Lapsed() bool { return i.Granted() && i.Known >= GrantLimit }

// Succeeded reports whether a pod of the same name with this UID and version was created after
// the recorded pod.
func (i Intent) Succeeded(uid string, version Version) bool {
	return i.UID != uid && version > i.Version
}

// Partitions replaces the zone in the holder of evictions that count by partition.
const Partitions = "partitions"

// Evicts returns the holder of a granted eviction, unless another operation already has the
// hold in its zone.
func (i Intent) Evicts() Holder {
	if i.Partition != "" {
		return EvictionOperation.For(Partitions)
	}
	return EvictionOperation.For(i.Zone)
}

// IntentStatus is the status of an intent, as the snapshot shows it.
type IntentStatus int

const (
	// Open: the disruption is in progress, or its end has not been observed.
	Open IntentStatus = iota
	// Pending: the pod is exactly as recorded; the disruption can still happen.
	Pending
	// Done: the end of the disruption has been observed.
	Done
	// Void: the disruption can never happen, usually because the pod has changed since the
	// recorded version.
	Void
)

// Counts reports whether the pod must be counted as down.
func (f IntentStatus) Counts() bool { return f == Open || f == Pending }

// IntentStatus compares an intent with the observed pods. It compares versions: the recorded
// version with the version of the pod, or with the version of the list of pods. The absence of
// a UID proves nothing (ADR 0004).
func (s *Snapshot) IntentStatus(i Intent) IntentStatus {
	pod, present := s.Pod(i.Pod)
	switch {
	case i.Unbound && !(s.Live && i.Lapsed()):
		return Open
	case s.Live && s.behindIntent(i):
		return s.statusOfRestored(i)
	case !present:
		return s.statusOfAbsent(i)
	case pod.UID == i.UID && i.Granted():
		return s.statusOfGrant(pod, i)
	case pod.UID == i.UID:
		return statusOfSame(pod, i)
	case pod.Version <= i.Version:
		return Open // an older incarnation: this view is behind
	}
	zone, _ := s.Zone(i.Zone)
	if pod.Available(zone.MinReady, s.Now) {
		return Done
	}
	return Open
}

func statusOfSame(pod Pod, i Intent) IntentStatus {
	switch {
	case pod.Phase == Leaving || pod.Version < i.Version:
		return Open
	case pod.Version == i.Version:
		return Pending
	}
	return Void
}

// statusOfGrant returns the status of a granted eviction whose pod exists. The client may
// carry out the eviction at any version of the pod, as long as the API server waits for it. So
// only a live read after that time ends the intent (ADR 15).
func (s *Snapshot) statusOfGrant(pod Pod, i Intent) IntentStatus {
	if s.Live && i.Lapsed() && pod.Phase != Leaving && pod.Version >= i.Version {
		return Void
	}
	return Open
}

// statusOfAbsent returns the status of an intent whose pod does not exist. A cached
// StatefulSet may be older than the absence of its pod, and may not show yet that its zone was
// scaled up. So only a live read ends such an intent (ADR 24).
func (s *Snapshot) statusOfAbsent(i Intent) IntentStatus {
	if s.Live && s.deletedAndUnwanted(i) {
		return Done
	}
	return Open
}

// WantAgain reports whether StatefulSets that were listed after a snapshot require the pod of
// one of these intents. Then the group must be read again.
func WantAgain(deleted []Intent, listed []Zone) bool {
	return slices.ContainsFunc(listed, func(z Zone) bool {
		return slices.ContainsFunc(deleted, func(i Intent) bool { return z.Wants(i.Pod) })
	})
}

// DeletedAndUnwanted returns the intents whose pods the snapshot does not show and whose
// StatefulSets, as the snapshot shows them, do not require those pods. A StatefulSet that was
// deleted without its pods may require them once it is created again. Before a live read
// relies on the result, it lists StatefulSets once more.
func (s *Snapshot) DeletedAndUnwanted() []Intent {
	var found []Intent
	for _, intent := range s.Hold.Intents {
		if s.deletedAndUnwanted(intent) {
			found = append(found, intent)
		}
	}
	return found
}

func (s *Snapshot) deletedAndUnwanted(i Intent) bool {
	if _, present := s.Pod(i.Pod); present || s.PodsAt < i.Version {
		return false
	}
	if zone, exists := s.Zone(i.Zone); exists {
		return !zone.Wants(i.Pod)
	}
	left := s.leftZone(i.Zone)
	return left == nil || !left.wants(i.Pod)
}

// Wants reports whether the spec requires a pod of that name.
func (z *Zone) Wants(pod string) bool {
	ordinal, ok := OrdinalOf(z.Name, pod)
	return ok && z.Owns(ordinal)
}

// String returns the status in lower case.
func (f IntentStatus) String() string {
	switch f {
	case Open:
		return "open"
	case Pending:
		return "pending"
	case Done:
		return "done"
	case Void:
		return "void"
	}
	return fmt.Sprintf("IntentStatus(%d)", int(f))
}
