package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// room is a temporary folder with an owner: a lock that the kernel lets go when
// the owner dies. Rooms of dead owners are removed by whoever comes next.
type room struct {
	dir  string
	lock *os.File
}

const (
	roomPrefix = "lockstep-local-"
	ownerFile  = "owner"
)

func newRoom() (*room, error) {
	sweep()
	dir, err := os.MkdirTemp("", roomPrefix)
	if err != nil {
		return nil, fmt.Errorf("create folder: %w", err)
	}
	lock, err := takeOwnership(dir)
	if err != nil {
		return nil, fmt.Errorf("own folder %s: %w", dir, err)
	}
	locks.Store(dir, lock)
	return &room{dir: dir, lock: lock}, nil
}

// locks keeps the owner files of this process reachable: one that is collected
// is closed, and its lock is gone.
var locks sync.Map

// takeOwnership makes the owner file, which is locked before it has its name: there
// is no moment at which a sweep could take it for abandoned.
func takeOwnership(dir string) (*os.File, error) {
	unnamed := filepath.Join(dir, ownerFile+".new")
	lock, err := os.OpenFile(unnamed, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, err
	}
	return lock, os.Rename(unnamed, filepath.Join(dir, ownerFile))
}

func (r *room) path(name string) string { return filepath.Join(r.dir, name) }

func (r *room) write(name string, content []byte) error {
	if err := os.WriteFile(r.path(name), content, 0o600); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

func (r *room) remove() error {
	locks.Delete(r.dir)
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("remove folder: %w", err)
	}
	return r.lock.Close()
}

// sweep removes the rooms of dead owners. What it cannot remove stays: it may be
// another user's.
func sweep() {
	rooms, _ := filepath.Glob(filepath.Join(os.TempDir(), roomPrefix+"*"))
	for _, dir := range rooms {
		if abandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

func abandoned(dir string) bool {
	lock, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR, 0)
	if os.IsNotExist(err) { // being made right now, or its removal was interrupted
		info, err := os.Stat(dir)
		return err == nil && time.Since(info.ModTime()) > time.Minute
	}
	if err != nil {
		return false
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
