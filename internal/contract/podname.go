package contract

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The limits of regexes. Tenants write them, and each eviction runs one. The time of a match grows only with
// its length and the number of its instructions.
const (
	longestRegex     = 1024
	mostInstructions = 2_000
)

// wholeName compiles a regex that must match the complete name of a pod.
//
// The predecessor adds ^ and $ around the text as it is. In a|b, ^ then applies only to the first
// alternative, and $ only to the second. Here they apply to all alternatives. Each name that a text without
// alternatives matches there, it matches here too.
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

// why returns the cause of a syntax error without the text around it.
func why(err error) string {
	if s, is := errors.AsType[*syntax.Error](err); is {
		return s.Code.String() + " " + shorten(s.Expr)
	}
	return shorten(err.Error())
}
