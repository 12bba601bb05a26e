package plan

import (
	"strconv"
	"strings"
)

// Maximum lengths of names and texts for output, in bytes.
const (
	longestName = 253
	longestText = 500
)

// Plain returns a text on one line, without control characters, and with at most this
// many bytes. Names of pods, zones and holders may be any text that a user wrote into a
// Lease.
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

// ending marks the end of a text that was cut.
const ending = "..."

// unprinted reports whether a rune is not printable or not valid.
func unprinted(r rune) bool { return r == '\uFFFD' || !strconv.IsPrint(r) }
