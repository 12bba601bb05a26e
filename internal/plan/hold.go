package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Hold is the group's lock as its Lease records it. See docs/guarantees.md,
// "The hold", for what it promises.
type Hold struct {
	Exists       bool   // there is a Lease
	UID          string // of the Lease
	Version      Version
	Own          bool      // this process wrote the record, and has looked at the group live since another one did
	Holder       Holder    // what is going on; empty when free
	Since        time.Time // when this holder took it; zero: the Lease does not say
	Intents      []Intent
	Renewed      time.Time
	Duration     time.Duration
	Transitions  int
	Members      []Member               // the zones that the group had when it was written last
	Downscale    Downscale              // under way in the holder's zone; usually none
	Waiting      []Waiting              // who was refused, first come first
	Downscaled   map[string]time.Time   // when each zone shrank last, as far as known
	GivenUp      map[string]time.Time   // when lockstep gave up a downscale of its own that failed, by zone
	Acknowledged map[string]DelayRecord // which pods agreed to leave after a delay, by zone
	Trace        string                 // W3C traceparent of the rollout
	Rollouts     Rollouts               // for people; to be read only, since snapshots share it
	Unrenewed    time.Duration          // for how long this process has seen no renewal, where the holder is Newer
	Unreadable   string                 // why the intents could not be read; such a hold is respected
	Unlabelled   bool                   // the Lease lost the label by which lockstep watches Leases
}

// Expired reports whether nobody renewed the hold in time. That alone never
// allows anybody to take it. A hold that does not say until when it counts
// does not expire.
func (h Hold) Expired(now time.Time) bool {
	at := h.ExpiresAt()
	return !at.IsZero() && now.After(at)
}

// ExpiresAt returns until when the hold counts as fresh, or the zero time for
// one that does not say so.
func (h Hold) ExpiresAt() time.Time {
	if h.Renewed.IsZero() || h.Duration <= 0 {
		return time.Time{}
	}
	return h.Renewed.Add(h.Duration)
}

// Lapsed reports whether a foreign holder's time is over. The name stays on the Lease and
// blocks nobody. An operation of a newer version of lockstep never lapses while the Lease
// notes anything, nor while this process sees renewals, whatever their time.
func (h Hold) Lapsed(now time.Time) bool {
	switch {
	case !h.Holder.Foreign() || !h.Expired(now):
		return false
	case h.Holder.Newer():
		return len(h.Intents) == 0 && h.Downscale.None() && h.Unrenewed >= h.Duration
	}
	return true
}

// Respected reports whether an operation of a newer version of lockstep has the hold. What
// it has noted is then neither ended nor written over.
func (h Hold) Respected(now time.Time) bool { return h.Holder.Newer() && !h.Lapsed(now) }

// Holder names an operation in a zone, never a process: "rollout/zone-a".
type Holder string

// Operation is the first part of a Holder.
type Operation string

// The operations that exist.
const (
	RolloutOperation   Operation = "rollout"
	DownscaleOperation Operation = "downscale"
	EvictionOperation  Operation = "eviction"
)

// For returns the holder of an operation in a zone.
func (o Operation) For(zone string) Holder { return Holder(string(o) + "/" + zone) }

// Free reports whether nobody holds.
func (h Holder) Free() bool { return h == "" }

// Operation returns what the holder does.
func (h Holder) Operation() Operation {
	operation, _, _ := strings.Cut(string(h), "/")
	return Operation(operation)
}

// Zone returns where the holder does it.
func (h Holder) Zone() string {
	_, zone, _ := strings.Cut(string(h), "/")
	return zone
}

// Foreign reports whether the holder is none of lockstep's operations, such as
// manual/maintenance. A foreign holder is respected until it expires.
func (h Holder) Foreign() bool {
	switch h.Operation() {
	case RolloutOperation, DownscaleOperation, EvictionOperation:
		return false
	}
	return !h.Free()
}

// Newer reports whether the holder is an operation that this version of lockstep does not
// know, of the kinds that newer versions have. Its intents cannot be judged here.
func (h Holder) Newer() bool { return slices.Contains(newerOperations, h.Operation()) }

// newerOperations are those of kinds that newer versions of lockstep have.
var newerOperations = []Operation{"progressive", "statefulcluster", "replicated"}

// Intent notes a pod that is about to be taken down or on its way back. It is
// written to the Lease before the deed.
type Intent struct {
	Zone    string
	Pod     string
	UID     string
	Version Version // the resourceVersion that the deed requires
	Cause   reason.Code
	Since   time.Time
	Trace   string        // W3C traceparent of the deed
	Known   time.Duration // for how long this process has known of it

	// Overtook: an operation of another zone waited for longer, and could not go on anyway.
	Overtook bool

	// Of a granted eviction, which somebody else carries out:
	Unbound   bool   // nothing binds it to the pod with that UID: it takes the pod that has the name by then
	Partition string // its partition, where partitions count
}

// Granted reports whether the intent is a granted eviction. Its deed requires the UID,
// unless it is unbound, and, unlike a deletion of lockstep's own, no version.
func (i Intent) Granted() bool { return i.Cause == reason.EvictionGranted }

// MayTake reports whether a granted eviction may still delete the pod of this UID and
// version that has the name of the one that is noted.
func (i Intent) MayTake(uid string, version Version) bool {
	return i.Granted() && (i.Unbound || !i.Succeeded(uid, version))
}

// RequestLimit is how long the API server works on a request, admission included.
// What it was allowed to do happens by then, or never.
const RequestLimit = 34 * time.Second

// GrantLimit is for how long a process must have known of a granted eviction before
// a live look may end it: longer than RequestLimit, also by a clock that goes twice
// as fast as it should.
const GrantLimit = 70 * time.Second

// Lapsed reports whether a granted eviction that has not happened yet can no longer
// happen.
func (i Intent) Lapsed() bool { return i.Granted() && i.Known >= GrantLimit }

// Succeeded reports whether a pod of the same name with this UID and version came after
// the one that is noted.
func (i Intent) Succeeded(uid string, version Version) bool {
	return i.UID != uid && version > i.Version
}

// Partitions stands for a zone in the holder of evictions that go by partitions.
const Partitions = "partitions"

// Evicts returns the holder under which a granted eviction takes place if nothing
// else has its zone.
func (i Intent) Evicts() Holder {
	if i.Partition != "" {
		return EvictionOperation.For(Partitions)
	}
	return EvictionOperation.For(i.Zone)
}

// IntentStatus is what the snapshot shows of an intent.
type IntentStatus int

const (
	// Open: the deed is under way, or its end has not been seen.
	Open IntentStatus = iota
	// Pending: the pod stands exactly as noted; the deed can still happen.
	Pending
	// Done: the end of the deed is seen.
	Done
	// Void: the deed can never happen, since the pod has moved past the noted version.
	Void
)

// Counts reports whether the pod must be counted as down.
func (f IntentStatus) Counts() bool { return f == Open || f == Pending }

// IntentStatus compares what was noted with what is seen. It is a question of versions:
// the noted one against the pod's own, or against that of the whole view of
// pods; the absence of a UID proves nothing (ADR 0004).
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

// statusOfGrant says what became of a granted eviction whose pod is there. Whoever was
// granted it may carry it out whatever the pod's version is, as long as the API
// server waits for it: so it ends by a live look after that time (ADR 15).
func (s *Snapshot) statusOfGrant(pod Pod, i Intent) IntentStatus {
	if s.Live && i.Lapsed() && pod.Phase != Leaving && pod.Version >= i.Version {
		return Void
	}
	return Open
}

// statusOfAbsent says what became of an intent whose pod does not exist. A cached StatefulSet
// may be older than the absence of its pod and not show yet that its zone was raised, so
// only a live read ends such an intent (ADR 24).
func (s *Snapshot) statusOfAbsent(i Intent) IntentStatus {
	if s.Live && s.deletedAndUnwanted(i) {
		return Done
	}
	return Open
}

// WantAgain reports whether StatefulSets that were listed later than a snapshot ask for one of
// these intents' pods, so that the group has to be read anew.
func WantAgain(deleted []Intent, listed []Zone) bool {
	return slices.ContainsFunc(listed, func(z Zone) bool {
		return slices.ContainsFunc(deleted, func(i Intent) bool { return z.Wants(i.Pod) })
	})
}

// DeletedAndUnwanted returns the intents whose pods the snapshot does not show and whose
// StatefulSets, as the snapshot shows them, do not ask for them. One that was deleted without
// its pods may ask for them when it is back. A live read lists
// StatefulSets once more before it relies on that.
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

// Wants reports whether the spec asks for a pod of that name.
func (z *Zone) Wants(pod string) bool {
	ordinal, ok := OrdinalOf(z.Name, pod)
	return ok && z.Owns(ordinal)
}

// String returns the fate in lower case.
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
