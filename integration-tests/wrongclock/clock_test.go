package wrongclock_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/wrongclock"
)

func TestAProgramLivesByWrongClocks(t *testing.T) {
	dir := t.TempDir()
	overlay, err := wrongclock.Overlay(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "clocks")
	if out, err := exec.CommandContext(t.Context(), "go", "build", overlay, "-o", program, "./testdata/clocks").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	now := time.Now()
	for name, c := range map[string]struct {
		clock *wrongclock.Clock
		// truth and wall are the minimum times in milliseconds that pass while the program waits
		// for one of its own seconds. ahead is how far its date is ahead.
		truth, wall int64
		ahead       time.Duration
	}{
		"true clocks":          {nil, 1000, 1000, 0},
		"ten minutes behind":   {&wrongclock.Clock{Offset: -10 * time.Minute, WallPace: 1000, SteadyPace: 1000}, 1000, 1000, -10 * time.Minute},
		"a wall clock at half": {&wrongclock.Clock{WallPace: 500, SteadyPace: 1000}, 1000, 500, 0},
		"a steady clock twice": {&wrongclock.Clock{WallPace: 1000, SteadyPace: 2000}, 500, 500, 0},
		"an hour ago it jumped": {
			&wrongclock.Clock{JumpAt: now.Add(-time.Hour), Jump: time.Minute, WallPace: 1000, SteadyPace: 1000}, 1000, 1000, time.Minute,
		},
		"it jumps in an hour": {
			&wrongclock.Clock{JumpAt: now.Add(time.Hour), Jump: time.Minute, WallPace: 1000, SteadyPace: 1000}, 1000, 1000, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program)
			if c.clock != nil {
				c.clock.From = time.Now()
				cmd.Env = []string{c.clock.Variable()}
			}
			began := time.Now()
			out, err := cmd.Output()
			took := time.Since(began).Milliseconds()
			if err != nil {
				t.Fatal(err)
			}
			var wall, steady, date int64
			if _, err := fmt.Sscan(string(out), &wall, &steady, &date); err != nil {
				t.Fatalf("%q: %v", out, err)
			}
			if took < c.truth || wall < c.wall || steady < 1000 {
				t.Errorf("in truth %d ms, by the wall clock %d, by the steady one %d; want at least %d, %d, 1000", took, wall, steady, c.truth, c.wall)
			}
			if slow := took - c.truth; wall-c.wall > 2*slow+10 || steady-1000 > 2*slow+10 {
				t.Errorf("in truth %d ms, and the wall clock came on by %d, the steady one by %d: want about %d and 1000", took, wall, steady, c.wall)
			}
			if ahead := time.Unix(date, 0).Sub(began); ahead < c.ahead-2*time.Second || ahead > c.ahead+time.Duration(took)*time.Millisecond {
				t.Errorf("it believes to be %v ahead, want %v", ahead, c.ahead)
			}
		})
	}
}

func TestAClockThatCannotBeReadEndsTheProgram(t *testing.T) {
	dir := t.TempDir()
	overlay, err := wrongclock.Overlay(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", overlay, "./testdata/clocks")
	cmd.Env = append(cmd.Environ(), "LOCKSTEP_CLOCK=soon")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("it runs: %s", out)
	}
}
