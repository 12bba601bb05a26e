package localcluster

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/progress"
)

// task is a build that shows its progress.
type task struct {
	out      io.Writer
	name     string
	terminal bool
	start    time.Time
	line     *progress.Line

	mu    sync.Mutex
	done  int
	total int
}

func startTask(out io.Writer, name string) *task {
	t := &task{out: out, name: name, terminal: progress.IsTerminal(out), start: time.Now()}
	if !t.terminal {
		fmt.Fprintln(out, name)
	}
	t.line = progress.Show(out, t.text)
	return t
}

// step counts one finished part of the task.
func (t *task) step() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
}

// expect sets the maximum number of parts.
func (t *task) expect(total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total = total
}

// end stops the display and prints the result of the task.
func (t *task) end(err error) {
	t.line.End()
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	fmt.Fprintf(t.out, "%s: %s after %s\n", t.name, outcome, t.elapsed())
}

func (t *task) text() string {
	t.mu.Lock()
	done, total := t.done, t.total
	t.mu.Unlock()
	switch {
	case !t.terminal && total > 0:
		return fmt.Sprintf("%s: %d of at most %d packages after %s", t.name, done, total, t.elapsed())
	case !t.terminal:
		return fmt.Sprintf("%s: %s so far", t.name, t.elapsed())
	case total > 0:
		return fmt.Sprintf("%s %s %d/%d %s", t.name, progress.Bar(done, total), done, total, t.elapsed())
	}
	return fmt.Sprintf("%s %s", t.name, t.elapsed())
}

func (t *task) elapsed() time.Duration { return time.Since(t.start).Round(time.Second) }
