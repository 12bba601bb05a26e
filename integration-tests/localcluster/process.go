package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/child"
)

// command describes how to start a process.
type command struct {
	name     string // for people
	program  string // path
	args     []string
	env      []string  // complete; nothing is inherited
	logPath  string    // file with its output
	watch    io.Writer // writes the log; nil: this package does
	detached bool      // outlives this process
	inherits []*os.File
}

// process is a running program in its own process group. It ends with this process unless it is
// detached.
type process struct {
	command
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended and all its output is written
	state  error         // how it ended; read after exited
}

func startProcess(c command) (*process, error) {
	out := c.watch
	if out == nil {
		log, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return nil, fmt.Errorf("open log of %s: %w", c.name, err)
		}
		defer log.Close()
		out = log // a file instead of a pipe, because it remains usable after this process has ended
	}

	cmd := exec.Command(c.program, c.args...)
	cmd.Env = c.env
	cmd.ExtraFiles = c.inherits
	cmd.Stdout, cmd.Stderr = out, out
	if err := c.start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}

	p := &process{command: c, cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.state = cmd.Wait()
	}()
	return p, nil
}

func (c command) start(cmd *exec.Cmd) error {
	if c.detached {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // survives the end of the terminal
		return cmd.Start()
	}
	cmd.SysProcAttr = ownGroup()
	return child.Start(cmd)
}

// kill ends the process and its group now, and waits until it has ended.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

func (p *process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// failure describes a process that ended by itself.
func (p *process) failure() error {
	return p.withLog(fmt.Errorf("%s ended by itself: %s", p.name, p.cmd.ProcessState))
}

// withLog adds the last lines of the log and its path to an error.
func (p *process) withLog(err error) error {
	return fmt.Errorf("%w\nlast lines of %s:\n%s", err, p.logPath, child.LastLines(p.logPath, 15))
}

// poll calls done every few milliseconds until it returns true. If one of the processes ends, it
// returns an error with the log of that process. If ctx ends, it returns an error with the log of
// the first process.
func poll(ctx context.Context, what string, done func() bool, processes ...*process) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		for _, p := range processes {
			if p.ended() {
				return fmt.Errorf("wait for %s: %w", what, p.failure())
			}
		}
		select {
		case <-ctx.Done():
			err := fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
			if len(processes) > 0 {
				err = processes[0].withLog(err)
			}
			return err
		case <-ticker.C:
		}
	}
	return nil
}

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
