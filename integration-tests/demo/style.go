package main

import (
	"os"
	"strings"
	"unicode/utf8"
)

// colour is an ANSI colour, or none.
type colour string

const (
	plain  colour = ""
	bold   colour = "1"
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
)

// style is the style of an output.
type style struct {
	colours bool
	symbols symbols
}

// symbols are the characters of the view, each one column wide.
type symbols struct {
	outdated, missing, starting, updated string // the state of a pod
	full, empty                          string // a bar
	separator, ellipsis                  string // between words; after a truncated line
}

var (
	unicodeSymbols = symbols{"○", "×", "◐", "●", "█", "░", "·", "…"}
	asciiSymbols   = symbols{"o", "x", "~", "*", "#", ".", "-", ">"}
)

// styleFrom returns the style for NO_COLOR and the locale.
func styleFrom(environment func(string) string, terminal bool) style {
	s := style{colours: terminal && environment("NO_COLOR") == "", symbols: asciiSymbols}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		locale := strings.ToLower(environment(name))
		if locale == "" {
			continue
		}
		if strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8") {
			s.symbols = unicodeSymbols
		}
		break
	}
	return s
}

func ourStyle(terminal bool) style { return styleFrom(os.Getenv, terminal) }

// span is text in one colour.
type span struct {
	text   string
	colour colour
}

// line is text in several colours.
type line []span

// paint returns the line truncated to a width, with colours if the style has them.
func (s style) paint(l line, width int) string {
	l = s.cut(l, width)
	var out strings.Builder
	for _, part := range l {
		if !s.colours || part.colour == plain || part.text == "" {
			out.WriteString(part.text)
			continue
		}
		out.WriteString("\x1b[" + string(part.colour) + "m" + part.text + "\x1b[0m")
	}
	return strings.TrimRight(out.String(), " ")
}

// cut truncates a line that is too long and marks it with a symbol.
func (s style) cut(l line, width int) line {
	if columns(l) <= width {
		return l
	}
	room := max(width-1, 0)
	var short line
	for _, part := range l {
		text := []rune(part.text)
		if len(text) >= room {
			return append(short, span{string(text[:room]) + s.symbols.ellipsis, part.colour})
		}
		room -= len(text)
		short = append(short, part)
	}
	return short
}

func columns(l line) int {
	n := 0
	for _, part := range l {
		n += utf8.RuneCountInString(part.text)
	}
	return n
}
