package plan

import "errors"

// Receipt is the result of an action.
type Receipt struct {
	Step Action
	Err  error // nil: the action is done
}

// ErrNotSent is the error of an action for whose request no time was left.
var ErrNotSent = errors.New("the request was not sent")

// PartialError is the error of an action that is done for some of its objects. Like a joined error, it unwraps to the errors
// of the other objects.
type PartialError struct {
	Done int // objects
	Errs []error
}

// Error returns the texts of the errors, one a line.
func (e *PartialError) Error() string { return errors.Join(e.Errs...).Error() }

// Unwrap returns the errors.
func (e *PartialError) Unwrap() []error { return e.Errs }
