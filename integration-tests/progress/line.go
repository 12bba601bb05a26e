// Package progress shows how far something is that takes long: one line that is drawn
// again and again in a terminal, a line every half minute elsewhere.
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

// How often a line is drawn.
const (
	inTerminal = 250 * time.Millisecond
	elsewhere  = 30 * time.Second
)

// erase takes the last line of a terminal away.
const erase = "\r\x1b[K"

// Line is shown until it ends.
type Line struct {
	out      io.Writer
	text     func() string
	terminal bool
	stop     chan struct{}
	stopped  chan struct{}

	mu sync.Mutex // of out
}

// Show begins to show what text returns, which is called from a goroutine of its own.
func Show(out io.Writer, text func() string) *Line {
	l := &Line{out: out, text: text, terminal: IsTerminal(out), stop: make(chan struct{}), stopped: make(chan struct{})}
	go l.draw()
	return l
}

// Print prints text that stays. The line goes on below it.
func (l *Line) Print(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminal {
		text = erase + text
	}
	fmt.Fprint(l.out, text)
}

// End takes the line away. What was printed stays.
func (l *Line) End() {
	close(l.stop)
	<-l.stopped
	l.Print("")
}

func (l *Line) draw() {
	defer close(l.stopped)
	interval, end := elsewhere, "\n"
	if l.terminal {
		interval, end = inTerminal, ""
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

// Bar draws how much of a total is done, in 24 characters.
func Bar(done, total int) string {
	const width = 24
	full := min(width*done/max(total, 1), width)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// IsTerminal reports whether people look at a writer who see a line drawn again.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
