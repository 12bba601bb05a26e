// Package screen formats output for people: tables, bars and colours, on a terminal or elsewhere. Any
// text can come from an untrusted user, so the package escapes everything that a terminal could
// interpret as a command.
package screen

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// longest is the maximum length of one text, in runes.
const longest = 1000

// Clean returns text on one line. It escapes characters that are not printable, or that change the
// direction of text, as Go does.
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

// mostMarks is the maximum number of combining marks on one letter. More of them would cover the
// lines above.
const mostMarks = 3

// clean reports whether text is short and plain ASCII, as nearly all text is.
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

// widths are the widths of a terminal on which letters of ambiguous width are narrow.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// Width returns the number of columns that a text needs.
func Width(text string) int { return widths.StringWidth(text) }

// short truncates a text to a number of columns.
func short(text string, columns int) string { return widths.Truncate(text, columns, "…") }

func padded(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-Width(text)))
}
