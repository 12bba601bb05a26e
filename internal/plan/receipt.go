package plan

// Receipt is the result of an action.
type Receipt struct {
	Step Action
	Err  error // nil: the action is done
}
