package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress shows how far a run is: a bar that is drawn again and again in a terminal,
// a line every half minute elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	total    int
	began    time.Time
	stop     func()
	stopped  chan struct{}

	mu      sync.Mutex
	running int
	done    int
	broken  int
	faults  int
}

func showProgress(out *os.File, total int) *progress {
	p := &progress{out: out, terminal: term.IsTerminal(int(out.Fd())), total: total, began: time.Now(), stopped: make(chan struct{})}
	interval := 30 * time.Second
	if p.terminal {
		interval = 500 * time.Millisecond
	}
	ticker, end := time.NewTicker(interval), make(chan struct{})
	p.stop = sync.OnceFunc(func() { close(end) })
	go func() {
		defer close(p.stopped)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.draw()
			case <-end:
				return
			}
		}
	}()
	return p
}

func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running++
}

func (p *progress) over(r record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.done++
	p.faults += sum(r.Faults)
	if r.broken() {
		p.broken++
	}
}

// print shows text that stays.
func (p *progress) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	fmt.Fprint(p.out, text)
}

func (p *progress) end() {
	p.stop()
	<-p.stopped
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("%d of %d plans, %d under way, %d broken, %d faults, %s",
		p.done, p.total, p.running, p.broken, p.faults, time.Since(p.began).Round(time.Second))
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	const width = 24
	full := width * p.done / max(p.total, 1)
	fmt.Fprintf(p.out, "\r\x1b[K[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", width-full), line)
}

func sum(counts map[string]int) int {
	all := 0
	for _, n := range counts {
		all += n
	}
	return all
}
