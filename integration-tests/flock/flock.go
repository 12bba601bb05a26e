// Package flock locks folders. The kernel releases a lock when its owner ends, however it ends. So
// a folder without a locked owner was abandoned.
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrTaken means that another process has the lock.
var ErrTaken = errors.New("another process has the lock")

// Try locks a folder until the file is closed, or returns ErrTaken.
func Try(folder string) (*os.File, error) {
	lock, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return lock, nil
	}
	lock.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrTaken
	}
	return nil, fmt.Errorf("lock %s: %w", folder, err)
}

// Lock waits until no other process has the lock of a folder, and locks it.
func Lock(ctx context.Context, folder string) (*os.File, error) {
	for {
		lock, err := Try(folder)
		if !errors.Is(err, ErrTaken) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
