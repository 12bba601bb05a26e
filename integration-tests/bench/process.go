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

// process is a running operator, which ends with us at the latest.
type process struct {
	cmd      *exec.Cmd
	log      string
	expected atomic.Bool // that it ends
	exited   chan struct{}
	state    error // how it ended; read after exited
}

// startProcess runs a program. It calls fail if it ends before anybody wants it.
func startProcess(ctx context.Context, words []string, log string, fail context.CancelCauseFunc) (*process, error) {
	if len(words) == 0 {
		return nil, errors.New("the command line is empty")
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	defer out.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), words[0], words[1:]...) // kill ends it, in its time
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} // not what make sets for compilers
	if err := child.Start(cmd); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: log, exited: make(chan struct{})}
	go func() {
		p.state = cmd.Wait()
		close(p.exited)
		if !p.expected.Load() {
			fail(fmt.Errorf("%s ended by itself: %s\n%s", words[0], cmd.ProcessState, child.LastLines(log, 15)))
		}
	}()
	return p, nil
}

// kill ends the process as a crash would and waits until it is gone.
func (p *process) kill() {
	p.expected.Store(true)
	_ = p.cmd.Process.Kill() // gone already is fine
	<-p.exited
}

// stop asks the process to end; it must do so with exit code 0.
func (p *process) stop(ctx context.Context) error {
	p.expected.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop operator: %w", err)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(patience):
		return fmt.Errorf("stop operator: still running after %s", patience)
	case <-p.exited:
	}
	if p.state != nil {
		return fmt.Errorf("stop operator: %w\n%s", p.state, child.LastLines(p.log, 15))
	}
	return nil
}

// clockTick is the unit of times in /proc, on every platform that Go runs on.
const clockTick = 10 * time.Millisecond

// cpu is the time that the process has used so far, by itself and in the kernel.
func (p *process) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return cpuOf(string(stat))
}

// cpuOf reads utime and stime, fields 14 and 15; the second one, the program's
// name in parentheses, may contain anything.
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

// memory is what the process occupies (its resident set), in KB.
func (p *process) memory() int { return p.status("VmRSS") }

// ownMemory is what of this it has written: the rest are pages of its program that were
// needed once, which the kernel may drop.
func (p *process) ownMemory() int { return p.status("RssAnon") }

// status is a figure of the kernel's, in KB.
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
