package plan

// Receipt says what became of an action.
type Receipt struct {
	Step Action
	Err  error // nil: done
}
