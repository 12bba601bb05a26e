package reason

import "errors"

// Class says how the loop handles an error.
type Class int

const (
	// Again is the class of an error without a class: retry with back-off.
	Again Class = iota
	// Moved means that objects changed under a plan (a conflict, a failed precondition, a
	// deleted object): plan again soon. It is not a failure.
	Moved
	// Human means that a retry is pointless until something changes.
	Human
)

// String returns the class as it appears in logs and metrics.
func (c Class) String() string {
	switch c {
	case Moved:
		return "moved"
	case Human:
		return "human"
	case Again:
		return "again"
	}
	return "unknown"
}

// WithClass returns err with a class that ClassOf finds again through any
// number of wrappings. It returns nil for a nil error.
func WithClass(c Class, err error) error {
	if err == nil {
		return nil
	}
	return classified{class: c, error: err}
}

// ClassOf returns the class that was given to err or to an error that it wraps. Of
// several joined errors, the most careful class counts: Again before Moved before Human.
func ClassOf(err error) Class {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // as errors.Join makes them
		return mostCareful(joined.Unwrap())
	}
	if c, ok := err.(classified); ok { //nolint:errorlint // this function unwraps step by step
		return c.class
	}
	if inner := errors.Unwrap(err); inner != nil {
		return ClassOf(inner)
	}
	return Again
}

func mostCareful(errs []error) Class {
	class := Human
	for _, err := range errs {
		class = min(class, ClassOf(err))
	}
	return class
}

type classified struct {
	class Class
	error
}

func (c classified) Unwrap() error { return c.error }

// WithCode returns err with the code that users see in place of that of any failed request. It returns nil for a nil error.
func WithCode(c Code, err error) error {
	if err == nil {
		return nil
	}
	return coded{code: c, error: err}
}

// CodeOf returns the code that was given to err or to an error that it wraps; empty: none.
func CodeOf(err error) Code {
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	return ""
}

type coded struct {
	code Code
	error
}

func (c coded) Unwrap() error { return c.error }
