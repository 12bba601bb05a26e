package plan

// EvictRequest is a pod that somebody wants to evict.
type EvictRequest struct {
	Pod string
	UID string // of the pod that will go
}

// Permit is the answer to an EvictRequest.
type Permit struct {
	Because Refusal // none: it is allowed
	Tally   Tally   // what is down, where that is why
	Note    Intent  // what the hold must say before the yes; none where nothing has to
	Version Version // not 0: the yes counts for the pod at this version alone
	Budget  string  // the budget that covers the pod, if one does
}

// Allowed tells whether the answer is yes, once what it asks for is done.
func (p Permit) Allowed() bool { return p.Because.None() }

// Noted tells whether the hold has to say something before the yes.
func (p Permit) Noted() bool { return p.Note.Pod != "" }

// Tally is what the predecessor told of pods that are down.
type Tally struct {
	NotReady int
	Unknown  int    // missing
	In       string // the zone, or "partition 7"
}

// Evict decides about the eviction of a pod of the group.
func Evict(s Snapshot, r EvictRequest) Permit { return Permit{} }
