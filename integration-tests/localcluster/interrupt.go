package localcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// Names of programs for Interrupt and Pause.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
)

// Interrupt kills one of the cluster's programs, starts it again after a time, and returns when the
// API server is ready. The program keeps its stored data and logs; its clients must reconnect by
// themselves. Only one program is interrupted at a time: further calls wait.
func (c *Cluster) Interrupt(ctx context.Context, name string, away time.Duration) error {
	c.interrupting.Lock()
	defer c.interrupting.Unlock()
	p, err := c.release(name)
	if err != nil {
		return fmt.Errorf("interrupt %s: %w", name, err)
	}
	p.kill()
	select {
	case <-time.After(away):
	case <-ctx.Done():
		return fmt.Errorf("interrupt %s: %w", name, context.Cause(ctx))
	}
	if err := c.resume(ctx, p.command); err != nil {
		return fmt.Errorf("interrupt %s: %w", name, err)
	}
	return c.recordProcesses()
}

// Pause stops one of the cluster's programs with SIGSTOP for a time, and returns after the program
// continues. The program keeps its connections, and then handles the events of that time first.
// It waits while another program is interrupted or paused.
func (c *Cluster) Pause(ctx context.Context, name string, d time.Duration) error {
	c.interrupting.Lock()
	defer c.interrupting.Unlock()
	p, err := c.running(name)
	if err != nil {
		return fmt.Errorf("pause %s: %w", name, err)
	}
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pause %s: %w", name, err)
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		err = fmt.Errorf("pause %s: %w", name, context.Cause(ctx))
	}
	return errors.Join(err, p.signal(syscall.SIGCONT))
}

// running returns the process of a program.
func (c *Cluster) running(name string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.processes, func(p *process) bool { return p.name == name })
	if i < 0 {
		return nil, errors.New("the cluster runs no such program")
	}
	return c.processes[i], nil
}

// release removes a process from the list of processes that must not end.
func (c *Cluster) release(name string) (*process, error) {
	p, err := c.running(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = slices.DeleteFunc(slices.Clone(c.processes), func(other *process) bool { return other == p })
	return p, nil
}

// resume starts a program again. If its port is not reserved, another program may use it for a
// moment.
func (c *Cluster) resume(ctx context.Context, from command) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not back after %s", startTimeout))
	defer cancel()
	for attempt := 1; ; attempt++ {
		p, err := c.begin(from)
		if err != nil {
			return err
		}
		err = poll(ctx, "the API server", func() bool { return !p.ended() && c.serves(ctx) }, p)
		if err == nil || attempt == startAttempts || !p.ended() || !portTaken(err) {
			return err
		}
		if _, err := c.release(from.name); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
}
