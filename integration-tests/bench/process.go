package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/child"
)

// process is a running operator, which is killed when this process ends.
type process struct {
	cmd      *exec.Cmd
	log      string
	stopping atomic.Bool // the end of the process is expected
	exited   chan struct{}
	state    error // how it ended; valid after exited is closed
}

// startProcess runs a program. It calls fail if the program ends by itself.
func startProcess(ctx context.Context, words []string, log string, fail context.CancelCauseFunc) (*process, error) {
	if len(words) == 0 {
		return nil, errors.New("the command line is empty")
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	defer out.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), words[0], words[1:]...) // kill ends it in the intended order
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} // without the variables that make sets for compilers
	if err := child.Start(cmd); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: log, exited: make(chan struct{})}
	go func() {
		p.state = cmd.Wait()
		close(p.exited)
		if !p.stopping.Load() {
			fail(fmt.Errorf("%s ended by itself: %s\n%s", words[0], cmd.ProcessState, child.LastLines(log, 15)))
		}
	}()
	return p, nil
}

// kill kills the process as a crash would, and waits for its end.
func (p *process) kill() {
	p.stopping.Store(true)
	_ = p.cmd.Process.Kill() // the process may have ended already
	<-p.exited
}

// stop asks the process to end, which must succeed with exit code 0.
func (p *process) stop(ctx context.Context) error {
	p.stopping.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop operator: %w", err)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(stallTimeout):
		return fmt.Errorf("stop operator: still running after %s", stallTimeout)
	case <-p.exited:
	}
	if p.state != nil {
		return fmt.Errorf("stop operator: %w\n%s", p.state, child.LastLines(p.log, 15))
	}
	return nil
}

// clockTick is the unit of times in /proc on every platform that Go supports.
const clockTick = 10 * time.Millisecond

// cpu returns the CPU time of the process so far, in user and kernel mode.
func (p *process) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return cpuOf(string(stat))
}

// cpuOf reads utime and stime, fields 14 and 15. Field 2, the program's name in parentheses, may
// contain any character.
func cpuOf(stat string) time.Duration {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const utime, stime = 14 - 3, 15 - 3
	if len(fields) <= stime {
		return 0
	}
	user, _ := strconv.Atoi(fields[utime])
	system, _ := strconv.Atoi(fields[stime])
	return time.Duration(user+system) * clockTick
}

// memory returns the resident set size of the process in KB.
func (p *process) memory() int { return p.status("VmRSS") }

// peakMemory returns the largest resident set size so far in KB.
func (p *process) peakMemory() int { return p.status("VmHWM") }

// anonymousMemory returns the part of it that is not backed by files. The kernel may drop the rest,
// which are pages of the program.
func (p *process) anonymousMemory() int { return p.status("RssAnon") }

// status returns a figure of /proc/PID/status in KB.
func (p *process) status(name string) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return statusOf(string(text), name)
}

func statusOf(text, name string) int {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return n
		}
	}
	return 0
}
