package plan

import "time"

// Delay says how long a pod that leaves is left alone after it has agreed to
// leave. The zero Delay is none.
type Delay struct {
	For     time.Duration
	Call    Call   // by which pods are told that they will leave, or stay
	Invalid string // what is wrong with what was written; the zone does not shrink
}

// Asked tells whether pods that leave wait.
func (d Delay) Asked() bool { return d.For > 0 || d.Invalid != "" }

// Message is what a pod of a zone with a delay is told.
type Message string

const (
	// Leave: the pod will leave when the delay is over.
	Leave Message = "leave"
	// Stay: the pod does not leave.
	Stay Message = "stay"
)

// Told is the last message that this process sent to a pod, and what came of it.
type Told struct {
	Message  Message
	Underway bool      // it has not answered yet, or it is not its turn yet
	Failed   bool      // it did not agree
	Why      string    // it did not
	At       time.Time // when the message was handed over or, once not Underway, when it was answered or failed
	Since    time.Time // of an answer to Leave: since when the pod is ready to leave, by its own clock
	Again    time.Time // after a failure: not to be told again before
}

// Stretch notes that the pods of neighbouring places agreed to leave, the last
// of them at a time. A place is an ordinal without the zone's first one, so From
// is the least spec.replicas that leaves none of them.
type Stretch struct {
	From  int
	To    int // the first place after it
	Since time.Time
}
