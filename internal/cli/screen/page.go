package screen

import (
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Style says what a page may show.
type Style struct {
	Bars    bool // progress as a bar, and what else only eyes want
	Colours bool
	Columns int // how wide the screen is; 0: as wide as it takes
	Rows    int // how high; 0: as high as it takes
}

// StyleOf returns what suits a place to write to: bars and colours on a terminal that
// is not dumb, unless NO_COLOR asks for none of these.
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

// Colour is what a piece of text means.
type Colour int

// The meanings that have a colour.
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

// In returns text, cleaned, in a colour.
func In(colour Colour, text string) Piece { return Piece{Clean(text), colour} }

// Text returns text, cleaned, in none.
func Text(text string) Piece { return In(Plain, text) }

// Bar returns progress as a bar and in numbers.
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

// Line adds one line of several pieces, one behind the other with a space between.
func (p *Page) Line(pieces ...Piece) {
	words := make([]string, 0, len(pieces))
	for _, piece := range pieces {
		if piece.text != "" {
			words = append(words, p.paint(piece, piece.text))
		}
	}
	p.lines = append(p.lines, strings.Join(words, " "))
}

// Indented adds text below what it belongs to, broken where the screen ends.
func (p *Page) Indented(columns int, text Piece) {
	room := 0
	if p.Style.Columns > 0 {
		room = max(20, p.Style.Columns-columns)
	}
	for _, line := range broken(text.text, room) {
		p.lines = append(p.lines, strings.Repeat(" ", columns)+p.paint(text, line))
	}
}

// Head puts one line above all others.
func (p *Page) Head(piece Piece) {
	p.lines = append([]string{p.paint(piece, piece.text)}, p.lines...)
}

// Crop leaves the first lines, and says how many there are beyond; below 1 it leaves
// all.
func (p *Page) Crop(rows int) {
	if rows < 1 || len(p.lines) <= rows {
		return
	}
	beyond := len(p.lines) - rows + 1
	p.lines = p.lines[:rows-1]
	p.Line(In(Faint, "… "+count(beyond)+" more lines"))
}

// Lines returns what was added, and where each line ends.
func (p *Page) Lines() []string { return p.lines }

// String returns the whole page.
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

// broken returns text in lines of so many columns, 0 for one line.
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

// Stretch returns a bar of something that lasted from one time to another within a
// whole.
func Stretch(from, to, whole time.Duration) Piece {
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
