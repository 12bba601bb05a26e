package contract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// NoDownscale reports whether an object's labels forbid downscales. An ignored object never does.
func NoDownscale(labels, annotations map[string]string) bool {
	return labels[NoDownscaleLabel] == "true" && !Ignored(annotations)
}

// PrepareDownscale reports whether a StatefulSet's labels require that its pods prepare before a downscale.
// An ignored StatefulSet never does.
func PrepareDownscale(labels, annotations map[string]string) bool {
	return labels[PrepareDownscaleLabel] == "true" && !Ignored(annotations)
}

// Call is the part of a request to pods that tenants control: everything except its destination. Path and
// Query are percent-encoded and valid.
type Call struct {
	TLS   bool
	Port  int
	Path  string // begins with a slash, without consecutive slashes
	Query string // without the question mark
}

// CallOf returns the Call for a call of the planner.
func CallOf(c group.Call) Call {
	path, query, _ := strings.Cut(c.Path, "?")
	return Call{TLS: c.TLS, Port: c.Port, Path: path, Query: query}
}

// RequestURI returns the path and the query as in a request line.
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

// PrepareCall parses the annotations of the prepare call.
//
// They cannot name a host: the port consists of digits, and the path of characters that RFC 3986 allows in a
// path, except for @. Consecutive slashes count as one. The segments . and .. are rejected, also if they are
// encoded, because they could only lead to another path than a reader expects. The error names all defects on
// one line.
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

// MissingForPrepareCall returns the first annotation required for a prepare call that is missing or empty, or
// "".
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

// mostPath limits the length of path and query together.
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

// cleanedPath returns the path with a slash at its beginning and without consecutive slashes: servers answer
// those with a redirect, which lockstep does not follow.
func cleanedPath(path string) string {
	path = "/" + path
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// wrongPath returns the defect of a path with its query, or nil.
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

// decodedDots decodes dots and slashes, so that encoded segments . and .. are found.
var decodedDots = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/")

// wrongCharacter returns an error for the first byte that is not allowed in a path or query.
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

// encodedByte decodes the two hexadecimal digits at the beginning of text.
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

// mayStandInPath reports whether RFC 3986 allows a character in path and query, except for @: in a path, its
// only purpose would be to name a host.
func mayStandInPath(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("-._~!$&'()*+,;=:/?", c) >= 0
}
