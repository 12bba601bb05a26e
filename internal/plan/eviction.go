package plan

import "fmt"

// EvictionRequest is a pod that a client wants to evict.
type EvictionRequest struct {
	Pod string
	UID string // of the pod that the eviction deletes
}

// EvictionAnswer is the answer to an EvictionRequest.
type EvictionAnswer struct {
	Because Refusal // none: it is allowed
	Zone    string  // of the pod
	Place   Waiting // the place to record in the queue, if the eviction could be granted at its turn
	Tally   Tally   // the pods that are down, if they are the reason
	Record  Intent  // what the hold must record before the eviction is allowed; zero: nothing
	Version Version // not 0: the answer is valid only for the pod at this version
	Budget  string  // the budget that covers the pod, if one does
}

// Allowed reports whether the eviction is allowed once the hold has the record that the answer
// asks for.
func (p EvictionAnswer) Allowed() bool { return p.Because.None() }

// NeedsRecord reports whether the hold must record an intent before the eviction is allowed.
func (p EvictionAnswer) NeedsRecord() bool { return p.Record.Pod != "" }

// Tally counts the pods that are down, in the words of the predecessor.
type Tally struct {
	NotReady int
	Unknown  int    // missing
	In       string // the zone, or "partition 7"
}

// Total returns how many pods are down.
func (t Tally) Total() int { return t.NotReady + t.Unknown }

// String returns the tally in the words of the predecessor: 1 pod not ready, 2 pods
// unknown in ingester-zone-b. If no pod is down, it is empty.
func (t Tally) String() string {
	text := podCount(t.NotReady, "not ready")
	if t.NotReady > 0 && t.Unknown > 0 {
		text += ", "
	}
	text += podCount(t.Unknown, "unknown")
	if text == "" {
		return ""
	}
	return text + " in " + t.In
}

func podCount(n int, how string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 pod " + how
	}
	return fmt.Sprintf("%d pods %s", n, how)
}
