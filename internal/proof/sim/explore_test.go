package sim

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

func TestExplore(t *testing.T) {
	full := os.Getenv("LOCKSTEP_EXPLORE") == "full"
	var visited []*exploration
	for _, w := range slices.Concat(worlds, absenceWorlds, evictionWorlds, restoredWorlds) {
		if w.slow && !full {
			continue
		}
		visited = append(visited, w)
		if full {
			debug.SetMemoryLimit(max(w.memory, 1200<<20)) // near the limit, the garbage collector runs more often
		}
		t.Run(w.name, w.run)
	}
	if total := sum(visited); total.worlds == len(visited) { // false if -run selects only some
		total.print(os.Stdout, visited)
		for d, name := range coverPointNames {
			if total.moves[d] == 0 && (full || coverPoint(d) != staleDeleteSentAfterExpiry) { // half a million states
				t.Errorf("no history contains: %s", name)
			}
		}
	}
}

func (w *exploration) run(t *testing.T) {
	begin := time.Now()
	report, err := Explore(w.config, Deviations{})
	w.report, w.duration = report, time.Since(begin)
	t.Logf("%v\n%d states, %d moves, depth %d, goal in %d states, %v, %d MB", w.config,
		report.States, report.Moves, report.Depth, report.Goals, w.duration.Round(time.Millisecond), megabytes())
	if err != nil {
		t.Fatal(err)
	}
	if report.Violation != nil {
		t.Fatalf("\n%v", report.Violation)
	}
	if report.Goals == 0 {
		t.Error("no state reaches the goal: the world proves nothing")
	}
	if w.config.Budget > 1 && report.Coverage[budgetsUsed] == 0 && report.Coverage[concurrentEvictions] == 0 {
		t.Error("BudgetUsed: no pod is ever disrupted while another pod of the zone is down")
	}
}

// megabytes returns the memory that the process has obtained from the operating system.
func megabytes() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Sys >> 20
}

// totals are the results of all worlds together.
type totals struct {
	worlds, states, allMoves int
	worldsWith, moves        [coverPoints]int // by dimension: number of worlds with it, and of moves
	duration                 time.Duration
}

func sum(visited []*exploration) (all totals) {
	for _, w := range visited {
		if w.report.States == 0 {
			continue
		}
		all.worlds++
		all.states += w.report.States
		all.allMoves += w.report.Moves
		all.duration += w.duration
		for d, moves := range w.report.Coverage {
			all.moves[d] += moves
			if moves > 0 {
				all.worldsWith[d]++
			}
		}
	}
	return all
}

// print writes the worlds with their sizes, and the events in them.
func (all totals) print(out io.Writer, visited []*exploration) {
	const row = "%-66s %9v %10v %6v %8.8v\n"
	fmt.Fprintf(out, row, "world", "states", "moves", "depth", "seconds")
	for _, w := range visited {
		fmt.Fprintf(out, row, w.name, w.report.States, w.report.Moves, w.report.Depth, fmt.Sprintf("%.1f", w.duration.Seconds()))
		fmt.Fprintf(out, "  %v\n", w.config)
	}
	fmt.Fprintf(out, row, fmt.Sprintf("%d worlds", all.worlds), all.states, all.allMoves, "", fmt.Sprintf("%.1f", all.duration.Seconds()))
	fmt.Fprintf(out, "\n%-76s %6s %10s\n", "events", "worlds", "moves")
	for d, name := range coverPointNames {
		fmt.Fprintf(out, "%-76s %6d %10d\n", name, all.worldsWith[d], all.moves[d])
	}
	fmt.Fprintf(out, "\nStates that differ in the numbers of versions or the order of operators count once. %d MB.\n", megabytes())
}

func TestExploreRejectsInvalidConfigs(t *testing.T) {
	good := Config{Zones: 1, Replicas: 1, Budget: 1, Operators: 1}
	for name, change := range map[string]func(*Config){
		"no zones":                     func(c *Config) { c.Zones = 0 },
		"too many pods":                func(c *Config) { c.Replicas = 4 },
		"no budget":                    func(c *Config) { c.Budget = 0 },
		"three operators":              func(c *Config) { c.Operators = 3 },
		"no second operator to lead":   func(c *Config) { c.Handovers = 1 },
		"an edit of an unknown zone":   func(c *Config) { c.Tracks = [][]Edit{{{Pause, 1, 0}}} },
		"too many replicas in an edit": func(c *Config) { c.Tracks = [][]Edit{{{Scale, 0, 9}}} },
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			change(&c)
			if _, err := Explore(c, Deviations{}); err == nil {
				t.Error("accepted")
			}
		})
	}
}
