package walk

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// few is how many schedules are run with every change; make sim runs many more.
const few = 300

// garbage is how much of the heap may be garbage, in percent of what is not: next to
// nothing of a schedule is kept.
const garbage = 1500

func TestWalk(t *testing.T) {
	first, schedules := number(t, "LOCKSTEP_SEED", 1), number(t, "LOCKSTEP_SCHEDULES", few)
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	began := time.Now()
	report := walks(t, first, schedules)
	fmt.Fprintf(os.Stdout, "seeds %d to %d, %d at a time, %.0f s\n%v", first, first+schedules-1, runtime.GOMAXPROCS(0), time.Since(began).Seconds(), &report)
	for _, broken := range report.Broken {
		t.Errorf("\n%v", broken)
	}
	if schedules < few || t.Failed() {
		return
	}
	for _, name := range report.Missing() {
		t.Errorf("in no schedule: %s", name)
	}
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// walks runs schedules on all processors, until one of them breaks a rule. Of several it
// tells the first.
func walks(t *testing.T, first, schedules uint64) Report {
	t.Helper()
	var next, done atomic.Uint64
	var failed atomic.Bool
	var mu sync.Mutex
	var all sync.WaitGroup
	var sum Report
	var broken []uint64
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			var mine Report
			var ours []uint64
			for !failed.Load() {
				n := next.Add(1) - 1
				if n >= schedules {
					break
				}
				report := Run(t, Draw(first+n))
				mine.Add(report)
				if n := done.Add(1); n%10_000 == 0 {
					fmt.Fprintf(os.Stdout, "%d of %d schedules\n", n, schedules)
				}
				if len(report.Broken) > 0 {
					failed.Store(true)
					ours = append(ours, first+n)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Add(mine)
			broken = append(broken, ours...)
		})
	}
	all.Wait()
	if len(broken) > 0 {
		sum.Broken = []*Story{Retell(t, Draw(slices.Min(broken)))}
	}
	return sum
}

// In this history a delete arrives long after it was sent. By then its sender has raised the
// zone, and has heard that it did.
func TestARequestIsJudgedByWhatWasKnownAsItWasSent(t *testing.T) {
	for _, broken := range Run(t, Draw(986602)).Broken {
		t.Errorf("\n%v", broken)
	}
}
