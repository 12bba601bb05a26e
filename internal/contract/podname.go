package contract

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// A regex is a tenant's, and every eviction runs it. It is matched in a time that
// grows with its length and the number of its instructions, and nothing else.
const (
	longestRegex     = 1024
	mostInstructions = 2_000
)

// wholeName compiles a regex that a pod's name has to match from its beginning to
// its end.
//
// The predecessor put ^ and $ around the text as it is, which of the alternatives
// in a|b binds the first at the beginning alone and the second at the end alone.
// Here all of them are bound at both. Every name that a text without alternatives
// matches, it matches there too.
func wholeName(text string) (*regexp.Regexp, error) {
	if len(text) > longestRegex {
		return nil, fmt.Errorf("has %d characters: at most %d are allowed", len(text), longestRegex)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %s", why(err))
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %s", why(err))
	}
	if n := len(program.Inst); n > mostInstructions {
		return nil, fmt.Errorf("is too complex: it has %d instructions, and at most %d are allowed", n, mostInstructions)
	}
	compiled, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %s", why(err))
	}
	return compiled, nil
}

// why is the cause of a syntax error, without the text around it.
func why(err error) string {
	if s, is := errors.AsType[*syntax.Error](err); is {
		return s.Code.String() + " " + shorten(s.Expr)
	}
	return shorten(err.Error())
}
