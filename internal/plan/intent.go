package plan

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

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

	// From is the UID of the former pod of an identity whose present pod has never run: the claims are still those of the former
	// one. Empty: they are those of the recorded pod.
	From string

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

// MaxIntents bounds the open intents of a group: one annotation has all of them.
const MaxIntents = 100

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
	// Obsolete: the disruption can never happen, usually because the pod has changed since the
	// recorded version.
	Obsolete
)

// Counts reports whether the pod must be counted as down.
func (f IntentStatus) Counts() bool { return f == Open || f == Pending }

// String returns the status in lower case.
func (f IntentStatus) String() string {
	switch f {
	case Open:
		return "open"
	case Pending:
		return "pending"
	case Done:
		return "done"
	case Obsolete:
		return "obsolete"
	}
	return fmt.Sprintf("IntentStatus(%d)", int(f))
}
