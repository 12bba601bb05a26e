package plan

import "time"

// Waiting is a place in the queue for a group: an operation that was refused because another
// operation was in progress. The operation that has waited longest comes first.
type Waiting struct {
	Operation Operation
	Zone      string
	Since     time.Time
	LastSeen  time.Time // its last attempt
}

// Counts reports whether the operation keeps its place. A place with an implausible time does
// not count.
func (w Waiting) Counts(now time.Time) bool {
	return now.Before(w.Until()) && !w.LastSeen.After(now.Add(TurnLimit))
}

// Until returns when the operation loses its place if it does not try again.
func (w Waiting) Until() time.Time { return w.LastSeen.Add(TurnLimit) }

const (
	// TurnLimit is how long a refused operation keeps its place in the queue after its last
	// attempt. It is a little more than two rounds of an autoscaler.
	TurnLimit = 35 * time.Second
	// AskAgain is how often a waiting operation renews its place in the hold.
	AskAgain = 10 * time.Second
)
