// Package progress shows the progress of a long operation: in a terminal as one line that is redrawn,
// otherwise as a line every half minute.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// These are the intervals between two lines.
const (
	terminalInterval = 250 * time.Millisecond
	otherInterval    = 30 * time.Second
)

// eraseLine removes the last line of a terminal.
const eraseLine = "\r\x1b[K"

// Line is shown until it ends.
type Line struct {
	out      io.Writer
	text     func() string
	terminal bool
	stop     chan struct{}
	stopped  chan struct{}

	mu sync.Mutex // guards out
}

// Show starts to show the result of text, which it calls from a goroutine of its own.
func Show(out io.Writer, text func() string) *Line {
	l := &Line{out: out, text: text, terminal: IsTerminal(out), stop: make(chan struct{}), stopped: make(chan struct{})}
	go l.draw()
	return l
}

// Print prints permanent text. The line continues below it.
func (l *Line) Print(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminal {
		text = eraseLine + text
	}
	fmt.Fprint(l.out, text)
}

// End removes the line. Printed text remains.
func (l *Line) End() {
	close(l.stop)
	<-l.stopped
	l.Print("")
}

func (l *Line) draw() {
	defer close(l.stopped)
	interval, end := otherInterval, "\n"
	if l.terminal {
		interval, end = terminalInterval, ""
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
			l.Print(l.text() + end)
		}
	}
}

// Bar draws the completed share of a total in 24 characters.
func Bar(done, total int) string {
	const width = 24
	full := min(width*done/max(total, 1), width)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
