package rolloutgroup

import (
	"strings"
	"unicode"
)

// clean returns a text that does nothing to a terminal, in so many bytes. Names of
// pods and holders may be what somebody wrote into a Lease.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cut)], "") + cut
}

// cut ends a text that was longer.
const cut = "..."
