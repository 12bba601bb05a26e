package localcluster

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress shows how far one long task is: a bar that redraws itself in a
// terminal, a line every half minute elsewhere.
type progress struct {
	out      io.Writer
	task     string
	terminal bool
	start    time.Time

	mu    sync.Mutex
	done  int
	total int

	stopped chan struct{}
	ended   chan struct{}
}

const plainInterval = 30 * time.Second

func startProgress(out io.Writer, task string) *progress {
	p := &progress{
		out: out, task: task, terminal: isTerminal(out), start: time.Now(),
		stopped: make(chan struct{}), ended: make(chan struct{}),
	}
	if !p.terminal {
		fmt.Fprintln(out, task)
	}
	go p.draw()
	return p
}

// step counts one finished part of the task.
func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
}

// expect says how many parts there are at most.
func (p *progress) expect(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = total
}

// end stops the display and says how the task went.
func (p *progress) end(err error) {
	close(p.stopped)
	<-p.ended
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	if p.terminal {
		fmt.Fprint(p.out, "\r\033[K")
	}
	fmt.Fprintf(p.out, "%s: %s after %s\n", p.task, outcome, p.elapsed())
}

func (p *progress) draw() {
	defer close(p.ended)
	interval := plainInterval
	if p.terminal {
		interval = 250 * time.Millisecond
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-p.stopped:
			return
		case <-ticker.C:
			p.show()
		}
	}
}

func (p *progress) show() {
	p.mu.Lock()
	done, total := p.done, p.total
	p.mu.Unlock()
	switch {
	case !p.terminal && total > 0:
		fmt.Fprintf(p.out, "%s: %d of at most %d packages after %s\n", p.task, done, total, p.elapsed())
	case !p.terminal:
		fmt.Fprintf(p.out, "%s: %s so far\n", p.task, p.elapsed())
	case total > 0:
		fmt.Fprintf(p.out, "\r\033[K%s %s %d/%d %s", p.task, bar(done, total), done, total, p.elapsed())
	default:
		fmt.Fprintf(p.out, "\r\033[K%s %s", p.task, p.elapsed())
	}
}

func (p *progress) elapsed() time.Duration { return time.Since(p.start).Round(time.Second) }

func bar(done, total int) string {
	const width = 24
	full := min(width*done/total, width)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
