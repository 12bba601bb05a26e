package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// room is a temporary folder with an owner: a lock that the kernel releases when the owner ends.
// The next process that creates a room removes the rooms of dead owners.
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

// locks keeps the owner files of this process reachable. If a file were garbage collected, it would
// be closed and its lock released.
var locks sync.Map

// takeOwnership creates the owner file. The file is locked before it gets its name, so a sweep can
// never treat it as abandoned.
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

// sweep removes the rooms of dead owners. Rooms that it cannot remove stay; they may belong to
// another user.
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
	if os.IsNotExist(err) { // it is being created, or its removal was interrupted
		info, err := os.Stat(dir)
		return err == nil && time.Since(info.ModTime()) > time.Minute
	}
	if err != nil {
		return false
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
