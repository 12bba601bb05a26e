package contract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// NoDownscale reports whether labels forbid to take replicas away from an object that is not
// ignored.
func NoDownscale(labels, annotations map[string]string) bool {
	return labels[NoDownscaleLabel] == "true" && !Ignored(annotations)
}

// PrepareDownscale reports whether labels of a StatefulSet that is not ignored ask for pods to be
// prepared before they leave.
func PrepareDownscale(labels, annotations map[string]string) bool {
	return labels[PrepareDownscaleLabel] == "true" && !Ignored(annotations)
}

// Call is what a tenant may say about a request to his pods: everything but
// where it goes. Path and Query are percent-encoded and have been checked.
type Call struct {
	TLS   bool
	Port  int
	Path  string // begins with a slash, and has no two in a row
	Query string // without the question mark
}

// CallOf returns a call as the planner carries it.
func CallOf(c plan.Call) Call {
	path, query, _ := strings.Cut(c.Path, "?")
	return Call{TLS: c.TLS, Port: c.Port, Path: path, Query: query}
}

// RequestURI returns path and query as they stand in a request line.
func (c Call) RequestURI() string {
	if c.Query == "" {
		return c.Path
	}
	return c.Path + "?" + c.Query
}

// Valid reports whether PrepareCall could have returned the call.
func (c Call) Valid() bool {
	return c.Port >= 1 && c.Port <= 65535 && strings.HasPrefix(c.Path, "/") && cleanedPath(c.Path) == c.Path &&
		wrongPath(c.RequestURI()) == nil
}

// PrepareCall reads the annotations that say how pods are prepared to leave.
//
// Nothing of them can name a host: the port is digits and nothing else, and the
// path consists of characters that RFC 3986 allows in a path, without @. Slashes in
// a row count as one. Segments . and .. are refused, encoded ones too: they could
// only mean another path than the one a person reads. The error says on one line
// everything that is wrong.
func PrepareCall(annotations map[string]string) (Call, error) {
	port, portErr := callPort(annotations[PreparePortAnnotation])
	path, query, pathErr := callPath(annotations[PreparePathAnnotation])
	var wrong []string
	if portErr != nil {
		wrong = append(wrong, fmt.Sprintf("annotation %s %v: must be a number from 1 to 65535", PreparePortAnnotation, portErr))
	}
	if pathErr != nil {
		wrong = append(wrong, fmt.Sprintf("annotation %s %v: must be a path such as ingester/prepare-shutdown", PreparePathAnnotation, pathErr))
	}
	if len(wrong) > 0 {
		return Call{}, errors.New(strings.Join(wrong, "; "))
	}
	return Call{Port: port, Path: path, Query: query}, nil
}

// MissingForPrepareCall returns the first annotation that a prepare call needs and that is
// missing or empty, or nothing.
func MissingForPrepareCall(annotations map[string]string) string {
	for _, name := range []string{PreparePortAnnotation, PreparePathAnnotation} {
		if annotations[name] == "" {
			return name + " annotation"
		}
	}
	return ""
}

var errMissing = errors.New("is missing or empty")

func callPort(text string) (int, error) {
	if text == "" {
		return 0, errMissing
	}
	port, ok := positive(text, 65535)
	if !ok || text[0] == '0' {
		return 0, fmt.Errorf("is %s, which is not a port", shorten(text))
	}
	return port, nil
}

// mostPath bounds path and query.
const mostPath = 1024

func callPath(text string) (path, query string, err error) {
	if text == "" {
		return "", "", errMissing
	}
	if err := wrongPath(text); err != nil {
		return "", "", fmt.Errorf("is %s, which %w", shorten(text), err)
	}
	path, query, _ = strings.Cut(text, "?")
	return cleanedPath(path), query, nil
}

// cleanedPath returns a path with one slash at its beginning, and one in the place of
// several in a row: servers answer those with a redirect, which nobody follows.
func cleanedPath(path string) string {
	path = "/" + path
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// wrongPath says what is wrong with a path and its query, or nil.
func wrongPath(text string) error {
	path, _, _ := strings.Cut(text, "?")
	switch {
	case len(strings.TrimPrefix(text, "/")) > mostPath:
		return fmt.Errorf("is longer than %d characters", mostPath)
	case strings.Contains(path, "://"):
		return errors.New("names a host")
	}
	if err := wrongCharacter(text); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(decodedDots.Replace(path), "/") {
		if segment == "." || segment == ".." {
			return errors.New("has a . or .. segment")
		}
	}
	return nil
}

// decodedDots makes segments readable that are written to be overlooked.
var decodedDots = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/")

// wrongCharacter says which byte must not stand in a path or query.
func wrongCharacter(text string) error {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '%':
			encoded, ok := encodedByte(text[i+1:])
			if !ok {
				return fmt.Errorf("has a %% without two hexadecimal digits after it at position %d", i+1)
			}
			if isControl(encoded) {
				return fmt.Errorf("encodes a control character at position %d", i+1)
			}
			i += 2
		case !mayStandInPath(c):
			return fmt.Errorf("has %s at position %d", strconv.QuoteToASCII(text[i:i+1]), i+1)
		}
	}
	return nil
}

// encodedByte reads the two hexadecimal digits at the beginning of text.
func encodedByte(text string) (byte, bool) {
	if len(text) < 2 || !isHex(text[0]) || !isHex(text[1]) {
		return 0, false
	}
	value, err := strconv.ParseUint(text[:2], 16, 8)
	return byte(value), err == nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isControl(c byte) bool { return c < ' ' || c == 0x7f }

// mayStandInPath reports whether RFC 3986 allows a character in path and query. Of
// those, @ is left out: in a path it is only ever meant to name a host.
func mayStandInPath(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("-._~!$&'()*+,;=:/?", c) >= 0
}
