package screen

import (
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Style is the style of a page.
type Style struct {
	Bars    bool // progress as bars, and other decoration
	Colours bool
	Columns int // width of the screen; 0: unlimited
	Rows    int // height of the screen; 0: unlimited
}

// StyleOf returns the style for a writer: bars and colours on a terminal that is not dumb. NO_COLOR
// disables the colours.
func StyleOf(out io.Writer, environment func(string) string) Style {
	file, is := out.(*os.File)
	if !is || !term.IsTerminal(int(file.Fd())) || environment("TERM") == "dumb" {
		return Style{}
	}
	style := Style{Bars: true, Colours: environment("NO_COLOR") == ""}
	if columns, rows, err := term.GetSize(int(file.Fd())); err == nil {
		style.Columns, style.Rows = columns, rows
	}
	return style
}

// Colour is the meaning of a piece of text.
type Colour int

// Meanings.
const (
	Plain Colour = iota
	Good
	Busy
	Slow
	Bad
	Faint
	Strong
)

var codes = map[Colour]string{Good: "32", Busy: "36", Slow: "33", Bad: "31", Faint: "2", Strong: "1"}

// Piece is text with a meaning.
type Piece struct {
	text   string
	colour Colour
}

// In returns cleaned text in a colour.
func In(colour Colour, text string) Piece { return Piece{Clean(text), colour} }

// Text returns cleaned text without a colour.
func Text(text string) Piece { return In(Plain, text) }

// Bar returns progress as numbers and, if the style has bars, as a bar.
func (s Style) Bar(done, of int) Piece {
	numbers := count(done) + "/" + count(of)
	if !s.Bars {
		return Piece{text: numbers}
	}
	const length = 12
	filled := length
	if of > 0 {
		filled = min(length, max(0, done*length/of))
	}
	bar := Piece{text: strings.Repeat("█", filled) + strings.Repeat("░", length-filled) + " " + numbers, colour: Busy}
	if done >= of {
		bar.colour = Good
	}
	return bar
}

// Page collects lines. The zero Page has no style.
type Page struct {
	Style Style
	lines []string
}

// Line adds a line of pieces, separated by spaces.
func (p *Page) Line(pieces ...Piece) {
	words := make([]string, 0, len(pieces))
	for _, piece := range pieces {
		if piece.text != "" {
			words = append(words, p.paint(piece, piece.text))
		}
	}
	p.lines = append(p.lines, strings.Join(words, " "))
}

// Indented adds indented text, wrapped at the width of the screen.
func (p *Page) Indented(columns int, text Piece) {
	room := 0
	if p.Style.Columns > 0 {
		room = max(20, p.Style.Columns-columns)
	}
	for _, line := range broken(text.text, room) {
		p.lines = append(p.lines, strings.Repeat(" ", columns)+p.paint(text, line))
	}
}

// Head adds a line before all others.
func (p *Page) Head(piece Piece) {
	p.lines = append([]string{p.paint(piece, piece.text)}, p.lines...)
}

// Crop keeps the first lines and adds the number of the others. If rows is less than 1, it keeps
// all lines.
func (p *Page) Crop(rows int) {
	if rows < 1 || len(p.lines) <= rows {
		return
	}
	beyond := len(p.lines) - rows + 1
	p.lines = p.lines[:rows-1]
	p.Line(In(Faint, "… "+count(beyond)+" more lines"))
}

// Lines returns the lines of the page.
func (p *Page) Lines() []string { return p.lines }

// String returns the text of the page.
func (p *Page) String() string {
	if len(p.lines) == 0 {
		return ""
	}
	return strings.Join(p.lines, "\n") + "\n"
}

func (p *Page) paint(piece Piece, text string) string {
	code := codes[piece.colour]
	if !p.Style.Colours || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// broken returns text in lines of at most room columns; 0 means unlimited.
func broken(text string, room int) []string {
	if room == 0 || Width(text) <= room {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && Width(line)+1+Width(word) > room {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// TimeBar returns a bar that shows the time from one moment to another within the duration
// whole.
func TimeBar(from, to, whole time.Duration) Piece {
	const length = 20
	at := func(t time.Duration) int {
		if whole <= 0 {
			return 0
		}
		return min(length, max(0, int(length*t/whole)))
	}
	first := min(at(from), length-1)
	last := max(at(to), first+1)
	return Piece{text: strings.Repeat("·", first) + strings.Repeat("█", last-first) + strings.Repeat("·", length-last), colour: Busy}
}
