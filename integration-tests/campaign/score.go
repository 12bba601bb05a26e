package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/progress"
)

// score is the displayed progress of a run.
type score struct {
	terminal bool
	total    int
	began    time.Time
	line     *progress.Line

	mu      sync.Mutex
	running int
	done    int
	broken  int
	faults  int
}

func newScore(out *os.File, total int) *score {
	s := &score{terminal: progress.IsTerminal(out), total: total, began: time.Now()}
	s.line = progress.Show(out, s.text)
	return s
}

func (s *score) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
}

func (s *score) finish(r record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.done++
	s.faults += sum(r.Faults)
	if r.broken() {
		s.broken++
	}
}

func (s *score) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%d of %d plans, %d under way, %d broken, %d faults, %s",
		s.done, s.total, s.running, s.broken, s.faults, time.Since(s.began).Round(time.Second))
	if s.terminal {
		text = progress.Bar(s.done, s.total) + " " + text
	}
	return text
}

func sum(counts map[string]int) int {
	all := 0
	for _, n := range counts {
		all += n
	}
	return all
}
