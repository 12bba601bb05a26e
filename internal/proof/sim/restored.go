package sim

import "fmt"

// Restored is the content of a Lease that was restored from a backup at the start: an
// eviction of the first pod, at a version that no pod has reached. No API server can carry
// it out any more.
type Restored uint8

// Possible contents.
const (
	NothingRestored Restored = iota
	AnotherPod               // the Lease is from a cluster in which pods had other UIDs
	SamePod                  // the pods were restored as well
)

// lease returns the Lease at the start.
func (r Restored) lease() lease {
	if r == NothingRestored {
		return lease{}
	}
	noted := intent{uid: 2, version: 2, grant: expiredGrant} // pods begin at version 1
	if r == SamePod {
		noted.uid = 1
	}
	l := lease{version: 1, holder: 1, operation: eviction}
	l.intents[0] = noted
	return l
}

// String returns it as a part of a Config.
func (r Restored) String() string {
	switch r {
	case NothingRestored:
		return "nothing restored"
	case AnotherPod:
		return "a Lease with another pod restored"
	case SamePod:
		return "a Lease with the very pod restored"
	}
	return fmt.Sprintf("Restored(%d)", uint8(r))
}
