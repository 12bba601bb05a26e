package plan

import (
	"strconv"
	"strings"
)

// How long at most what is shown of a name and of a text is, in bytes.
const (
	longestName   = 253
	longestText   = 500
	longestHolder = 320
)

// Plain returns a text that does nothing to a terminal, on one line, in so many bytes
// at most. Names of pods, zones and holders may be what somebody wrote into a Lease.
func Plain(text string, most int) string {
	cut := len(text) > most
	if cut {
		text = strings.ToValidUTF8(text[:most-len(ending)], "")
	}
	if strings.IndexFunc(text, unprinted) >= 0 {
		text = strings.Map(func(r rune) rune {
			if unprinted(r) {
				return '?'
			}
			return r
		}, text)
	}
	if cut {
		text += ending
	}
	return text
}

// ending stands where a text was longer.
const ending = "..."

// unprinted reports whether a rune is not shown as itself, or is none.
func unprinted(r rune) bool { return r == '\uFFFD' || !strconv.IsPrint(r) }

// Plain returns the holder as it can be shown.
func (h Holder) Plain() string { return Plain(string(h), longestHolder) }
