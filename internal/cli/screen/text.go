// Package screen writes to people: tables, bars and colours, on a terminal or
// elsewhere. Every text that it is given may be a stranger's, so nothing reaches a
// terminal that could be taken for a command to it.
package screen

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// longest bounds one text, in runes: who reads a line of a screen reads no more.
const longest = 1000

// Clean returns text that shows what it says: on one line, and with everything that
// is not printed, or that turns the direction of what is, as an escape of Go.
func Clean(text string) string {
	if clean(text) {
		return text
	}
	var b strings.Builder
	runes, marks := 0, 0
	for i, r := range text {
		if runes++; runes > longest {
			b.WriteString("…")
			break
		}
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		} else if marks++; marks > mostMarks {
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// mostMarks is how many marks may stand on one letter: more of them would cover the
// lines above it.
const mostMarks = 3

// clean reports whether text is plain ASCII of a usual length, as nearly all is.
func clean(text string) bool {
	if len(text) > longest {
		return false
	}
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// widths are those of a terminal whose letters of ambiguous width are narrow.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// Width returns how many columns a text takes.
func Width(text string) int { return widths.StringWidth(text) }

// short cuts a text to a number of columns.
func short(text string, columns int) string { return widths.Truncate(text, columns, "…") }

func padded(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-Width(text)))
}
