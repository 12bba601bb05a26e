package localcluster

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// Backup stops every program of the cluster for a moment, copies the data of etcd, and returns the
// folder of the copy, for Restore.
func (c *Cluster) Backup(ctx context.Context) (string, error) {
	backup := c.room.path("backup")
	err := c.whileStopped(ctx, func() error {
		if err := os.RemoveAll(backup); err != nil {
			return err
		}
		return os.CopyFS(backup, os.DirFS(c.room.path("etcd")))
	})
	if err != nil {
		return "", fmt.Errorf("back up etcd: %w", err)
	}
	return backup, nil
}

// Restore stops every program of the cluster for a moment and replaces the data of etcd with a
// backup. Programs that do not belong to the cluster, such as an operator, continue.
func (c *Cluster) Restore(ctx context.Context, backup string) error {
	err := c.whileStopped(ctx, func() error {
		if err := os.RemoveAll(c.room.path("etcd")); err != nil {
			return err
		}
		return os.CopyFS(c.room.path("etcd"), os.DirFS(backup))
	})
	if err != nil {
		return fmt.Errorf("restore etcd: %w", err)
	}
	return nil
}

// whileStopped stops every program of the cluster, calls do, and starts them again in their order.
func (c *Cluster) whileStopped(ctx context.Context, do func() error) error {
	c.interrupting.Lock()
	defer c.interrupting.Unlock()
	stopped := c.releaseAll()
	for _, p := range slices.Backward(stopped) {
		p.kill()
	}
	if err := do(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not back after %s", startTimeout))
	defer cancel()
	for _, former := range stopped {
		if err := c.startAgain(ctx, former.command); err != nil {
			return err
		}
	}
	return c.recordProcesses()
}

// releaseAll removes every process from the list of processes that must not end.
func (c *Cluster) releaseAll() []*process {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.processes
	c.processes = nil
	return all
}

// startAgain starts a program and waits until programs that depend on it can be started.
func (c *Cluster) startAgain(ctx context.Context, from command) error {
	p, err := c.begin(from)
	if err != nil {
		return err
	}
	switch from.name {
	case Etcd:
		return poll(ctx, "etcd", func() bool { return listens(c.ports.etcdClient) }, p)
	case APIServer:
		return poll(ctx, "the API server", func() bool { return c.serves(ctx) }, p)
	}
	return nil
}
