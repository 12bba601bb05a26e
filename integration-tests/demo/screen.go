package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// screen redraws lines in place at the end of a terminal.
type screen struct {
	out  io.Writer
	size func() (width, height int)
	last []string // drawn last
}

// These are the assumed dimensions if the terminal does not report its size.
const (
	usualWidth  = 80
	usualHeight = 24
)

func newScreen(file *os.File) *screen {
	return &screen{out: file, size: func() (int, int) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return usualWidth, usualHeight
		}
		return width, height
	}}
}

// isTerminal reports whether lines can be redrawn.
func isTerminal(file *os.File) bool {
	return term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// draw replaces the lines that it drew before. It omits lines below the height of the terminal. The
// caller limits the width.
func (s *screen) draw(lines []string) {
	_, height := s.size()
	lines = lines[:min(len(lines), max(height-1, 1))]
	if slices.Equal(lines, s.last) {
		return
	}
	var frame strings.Builder
	frame.WriteString("\x1b[?25l") // hide the cursor
	if len(s.last) > 0 {
		fmt.Fprintf(&frame, "\x1b[%dA", len(s.last))
	}
	frame.WriteString("\r")
	for _, l := range lines {
		frame.WriteString(l + "\x1b[K\n")
	}
	frame.WriteString("\x1b[J") // erase the rest of a longer frame
	fmt.Fprint(s.out, frame.String())
	s.last = slices.Clone(lines)
}

// finish keeps the drawn lines and shows the cursor again.
func (s *screen) finish() {
	if s.last != nil {
		fmt.Fprint(s.out, "\x1b[?25h")
	}
	s.last = nil
}
