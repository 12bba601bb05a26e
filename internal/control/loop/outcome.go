package loop

import (
	"fmt"
	"time"
)

// Outcome says when a key wants to be looked at again, events apart. The zero
// Outcome is Done.
type Outcome struct {
	kind  kind
	after time.Duration
}

type kind int

const (
	done kind = iota
	gone
	later
	now
)

// Done means: nothing to wait for but events.
func Done() Outcome { return Outcome{kind: done} }

// Gone means that the key names nothing any more. It differs from Done only in
// its result, at which metrics can be forgotten.
func Gone() Outcome { return Outcome{kind: gone} }

// Now means: again at once, when the namespace's turn comes.
func Now() Outcome { return Outcome{kind: now} }

// After means: look again after a while, or when an event comes first. A
// duration that is not positive means Now.
func After(d time.Duration) Outcome {
	if d <= 0 {
		return Now()
	}
	return Outcome{kind: later, after: d}
}

// Earlier returns the outcome that asks for the earlier look.
func (o Outcome) Earlier(other Outcome) Outcome {
	if o.kind == later && other.kind == later {
		return After(min(o.after, other.after))
	}
	if o.kind >= other.kind {
		return o
	}
	return other
}

// String returns the outcome for logs.
func (o Outcome) String() string {
	switch o.kind {
	case done:
		return "done"
	case gone:
		return "gone"
	case later:
		return "after " + o.after.String()
	case now:
		return "now"
	}
	return fmt.Sprintf("Outcome(%d)", int(o.kind))
}

// Result is what came of one reconcile, for metrics, spans and logs.
type Result string

// The results. The last three are failures; a world that moved is none.
const (
	ResultDone  Result = "done"  // nothing to wait for but events
	ResultGone  Result = "gone"  // the key names nothing any more
	ResultWait  Result = "wait"  // a timer is set
	ResultNow   Result = "now"   // looked at again at once
	ResultMoved Result = "moved" // the world changed meanwhile; tried again soon
	ResultAgain Result = "again" // failed; tried again with back-off
	ResultHuman Result = "human" // failed; tried again when something changes
	ResultPanic Result = "panic" // panicked; tried again with back-off
)

// Success reports whether the reconcile did what it was meant to do.
func (r Result) Success() bool {
	switch r {
	case ResultDone, ResultGone, ResultWait, ResultNow:
		return true
	case ResultMoved, ResultAgain, ResultHuman, ResultPanic:
		return false
	}
	return false
}

// result of an outcome without an error.
func (o Outcome) result() Result {
	switch o.kind {
	case done:
		return ResultDone
	case gone:
		return ResultGone
	case later:
		return ResultWait
	case now:
		return ResultNow
	}
	return ResultDone
}
