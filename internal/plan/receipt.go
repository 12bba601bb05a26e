package plan

import "errors"

// Receipt is the result of an action.
type Receipt struct {
	Step Action
	Err  error // nil: the action is done
}

// ErrNotSent is the error of an action for whose request no time was left.
var ErrNotSent = errors.New("the request was not sent")
