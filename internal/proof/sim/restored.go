package sim

import "fmt"

// Restored describes a Lease that was restored from a backup before the start. The Lease records an
// eviction of the first pod, at a version that the pod has not reached. No API server can carry out
// this eviction any more.
type Restored uint8

// Possible contents.
const (
	NothingRestored Restored = iota
	AnotherPod               // in the restored Lease the pod has another UID
	SamePod                  // the pod was restored as well: it has the UID of the record
)

// lease returns the Lease as it is at the start.
func (r Restored) lease() lease {
	if r == NothingRestored {
		return lease{}
	}
	i := intent{uid: 2, version: 2, grant: expiredGrant} // pods begin at version 1
	if r == SamePod {
		i.uid = 1
	}
	l := lease{version: 1, holder: 1, operation: eviction}
	l.intents[0] = i
	return l
}

// String returns it as a part of a Config.
func (r Restored) String() string {
	switch r {
	case NothingRestored:
		return "nothing restored"
	case AnotherPod:
		return "a restored Lease with another UID"
	case SamePod:
		return "a restored Lease with the UID of the pod"
	}
	return fmt.Sprintf("Restored(%d)", uint8(r))
}
