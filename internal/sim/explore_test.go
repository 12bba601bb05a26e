package sim

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// worlds are explored with lockstep's own rules. Those that are wide take
// minutes and are visited by make explore only.
var worlds = []struct {
	name   string
	wide   bool
	config Config
}{
	{"a revert while the operator dies", false, Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Template, 0, 1}}},
	}},
	{"a bad revision, then a good one, while the operator dies", false, Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Bad: []int{2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Template, 0, 3}}, {{Template, 1, 3}}},
	}},
	{"a pause while replies get lost", false, Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, LostReplies: 1,
		Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{"a crash while the operator dies and its hold expires", false, Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 1}, Kills: 1, Crashes: 1, Minutes: 1,
	}},
	{"caches that trickle while the operator dies and its hold expires", false, Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2}, Kills: 1, Crashes: 1, Minutes: 1, Trickle: true,
	}},
	{"two operators", false, Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2},
	}},

	{"three zones", true, Config{
		Zones: 3, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2, 2},
		Kills: 1, OldCaches: true, Crashes: 1, Minutes: 1,
	}},
	{"caches that trickle over two zones", true, Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, Crashes: 1, Minutes: 1, Trickle: true,
	}},
	{"scaling down and up", true, Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true,
		Tracks: [][]Edit{{{Scale, 0, 1}, {Scale, 0, 2}}},
	}},
	{"scaling up and down", true, Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, OldCaches: true, Minutes: 1,
		Tracks: [][]Edit{{{Scale, 0, 2}, {Scale, 0, 1}}},
	}},
	{"others delete pods", true, Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 1, Templates: []int{2, 2}, Kills: 1, Losses: 1, Churn: 1,
	}},
	{"two pods at a time", true, Config{
		Zones: 2, Replicas: 3, Budget: 2, Operators: 1, Templates: []int{2, 1}, Kills: 1, OldCaches: true, Crashes: 1, Minutes: 1,
	}},
	{"two operators, two pods in each zone", true, Config{
		Zones: 2, Replicas: 2, Budget: 1, Operators: 2, Templates: []int{2, 2},
	}},
	{"two operators and a crash", true, Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Crashes: 1,
	}},
	{"two operators, a crash and an expired hold", true, Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 1}, Crashes: 1, Minutes: 1,
	}},
	{"two operators, one of which dies", true, Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Kills: 1,
	}},
	{"two operators and a pause", true, Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 2}, Tracks: [][]Edit{{{Pause, 0, 0}, {Resume, 0, 0}}},
	}},
	{"two operators and a revert", true, Config{
		Zones: 2, Replicas: 1, Budget: 1, Operators: 2, Templates: []int{2, 1}, Tracks: [][]Edit{{{Template, 0, 1}}},
	}},
	{"two operators, two pods and a crash", true, Config{
		Zones: 1, Replicas: 2, Budget: 1, Operators: 2, Templates: []int{2}, Crashes: 1,
	}},
}

func TestExplore(t *testing.T) {
	full := os.Getenv("LOCKSTEP_EXPLORE") == "full"
	for _, w := range worlds {
		if w.wide && !full {
			continue // make explore visits it
		}
		t.Run(strings.ReplaceAll(w.name, ",", ""), func(t *testing.T) {
			begin := time.Now()
			report, err := Explore(w.config, Rules{})
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			t.Logf("%v\n%d states, %d moves, depth %d, goal in %d states, %v, %d MB", w.config,
				report.States, report.Moves, report.Depth, report.Goals, time.Since(begin).Round(time.Millisecond), memory.Sys>>20)
			if err != nil {
				t.Fatal(err)
			}
			if report.Broken != nil {
				t.Fatalf("\n%v", report.Broken)
			}
			if report.Goals == 0 {
				t.Error("the goal is reached nowhere: the world proves nothing")
			}
		})
	}
}

func TestImpossibleWorldsAreRefused(t *testing.T) {
	good := Config{Zones: 1, Replicas: 1, Budget: 1, Operators: 1}
	for name, change := range map[string]func(*Config){
		"no zones":                 func(c *Config) { c.Zones = 0 },
		"too many pods":            func(c *Config) { c.Replicas = 4 },
		"no budget":                func(c *Config) { c.Budget = 0 },
		"three operators":          func(c *Config) { c.Operators = 3 },
		"an edit of no zone":       func(c *Config) { c.Tracks = [][]Edit{{{Pause, 1, 0}}} },
		"a scale beyond the world": func(c *Config) { c.Tracks = [][]Edit{{{Scale, 0, 9}}} },
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			change(&c)
			if _, err := Explore(c, Rules{}); err == nil {
				t.Error("accepted")
			}
		})
	}
}
