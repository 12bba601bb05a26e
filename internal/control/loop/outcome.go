package loop

import (
	"fmt"
	"time"
)

// Outcome says when a key must be reconciled again, apart from events. The zero Outcome is
// Done.
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

// Done means that only an event causes the next reconcile.
func Done() Outcome { return Outcome{kind: done} }

// Gone means that the object of the key does not exist any more. It differs from Done only in
// its result, so that metrics can be dropped.
func Gone() Outcome { return Outcome{kind: gone} }

// Now means that the key is reconciled again as soon as its namespace's turn comes.
func Now() Outcome { return Outcome{kind: now} }

// After means that the key is reconciled again after d, or when an event comes first. If d is
// not positive, it means Now.
func After(d time.Duration) Outcome {
	if d <= 0 {
		return Now()
	}
	return Outcome{kind: later, after: d}
}

// Earlier returns the outcome that asks for the earlier reconcile.
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

// Result is the result of one reconcile, for metrics, spans and logs.
type Result string

// The results. The last three are failures. A changed object is no failure.
const (
	ResultDone  Result = "done"  // only an event causes the next reconcile
	ResultGone  Result = "gone"  // the object of the key does not exist any more
	ResultWait  Result = "wait"  // a timer is set
	ResultNow   Result = "now"   // reconciled again at once
	ResultMoved Result = "moved" // an object has changed in the meantime; retried soon
	ResultAgain Result = "again" // failed; retried with back-off
	ResultHuman Result = "human" // failed; retried when something changes
	ResultPanic Result = "panic" // panicked; retried with back-off
)

// Success reports whether the reconcile succeeded.
func (r Result) Success() bool {
	switch r {
	case ResultDone, ResultGone, ResultWait, ResultNow:
		return true
	case ResultMoved, ResultAgain, ResultHuman, ResultPanic:
		return false
	}
	return false
}

// result returns the result of an outcome without an error.
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
