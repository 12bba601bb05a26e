package realnode

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/child"
)

// process is a program that runs until this process ends.
type process struct {
	name   string
	log    string        // path
	exited chan struct{} // closed when it has ended
	state  error         // how it ended; read after exited

	running *os.Process
}

// start starts a program that logs into a folder. It runs in the network of the node with this
// name, or in this process's network if the name is empty.
func start(node, dir string, environment []string, program string, args ...string) (*process, error) {
	p := &process{name: filepath.Base(program), exited: make(chan struct{})}
	p.log = filepath.Join(dir, p.name+".log")
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	defer log.Close()
	if node != "" {
		args = append([]string{"--net=/run/netns/" + node, program}, args...)
		program = "nsenter" // it becomes the program
	}
	command := exec.Command(program, args...)
	command.Env = append([]string{"HOME=" + dir, "TMPDIR=" + dir}, environment...)
	command.Stdout, command.Stderr = log, log
	if err := child.Start(command); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	p.running = command.Process
	go func() {
		defer close(p.exited)
		p.state = command.Wait()
	}()
	return p, nil
}

// await waits until done returns nil. If ctx ends or the program ends, it returns an error with the
// end of the program's log.
func (p *process) await(ctx context.Context, what string, done func() error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := done()
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.withLog(fmt.Errorf("wait for %s: %s ended: %w", what, p.name, p.state))
		case <-ctx.Done():
			return p.withLog(fmt.Errorf("wait for %s: %w (%w)", what, err, context.Cause(ctx)))
		case <-ticker.C:
		}
	}
}

// kill ends the program at once, and waits for that.
func (p *process) kill() {
	_ = p.running.Kill() // it may have ended
	<-p.exited
}

// alive returns an error with the end of its log if the program has ended.
func (p *process) alive() error {
	select {
	case <-p.exited:
		return p.withLog(fmt.Errorf("%s ended by itself: %w", p.name, p.state))
	default:
		return nil
	}
}

func (p *process) withLog(err error) error {
	return fmt.Errorf("%w\nlast lines of %s:\n%s", err, p.log, child.LastLines(p.log, 25))
}
