package enclosure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/flock"
)

// run is what a run leaves on the machine until it ends: a folder, with a lock that its
// owner has, and control groups of the folder's name.
type run struct {
	dir  string
	lock *os.File
}

// sweepTimeout is how long others may be at it.
const sweepTimeout = time.Minute

// newRun makes the folder of a run. What runs left behind that were killed is removed
// before: nobody else makes or removes one at the same time.
func newRun(ctx context.Context) (*run, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sweepTimeout, fmt.Errorf("not within %s", sweepTimeout))
	defer cancel()
	all, err := flock.Lock(ctx, os.TempDir())
	if err != nil {
		return nil, err
	}
	defer all.Close()
	sweep()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // programs in there have users of their own
		return nil, err
	}
	lock, err := flock.Try(dir)
	return &run{dir, lock}, err
}

// sweep removes the runs whose owner is dead. What it cannot remove is left to the next.
func sweep() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range folders {
		if lock, err := flock.Try(dir); err == nil {
			_ = (&run{dir, lock}).end()
		}
	}
}

// makeControlGroups makes the control groups of the run.
func (r *run) makeControlGroups() error {
	if unified() {
		handed, err := hand(hierarchies)
		if err := errors.Join(err, os.WriteFile(r.handedFile(), []byte(strings.Join(handed, " ")), 0o600)); err != nil {
			return err
		}
	}
	return makeControlGroups(filepath.Base(r.dir))
}

// handedFile names the controllers that control groups of the machine had not before.
func (r *run) handedFile() string { return filepath.Join(r.dir, ".handed") }

// end removes what a run left, its folder last: as long as that is there, the rest is found.
func (r *run) end() error {
	defer r.lock.Close()
	handed, _ := os.ReadFile(r.handedFile()) // there is none if none were
	if err := errors.Join(
		removeControlGroups(filepath.Base(r.dir)),
		takeBack(hierarchies, strings.Fields(string(handed))),
	); err != nil {
		return fmt.Errorf("remove the control groups of the enclosure: %w", err)
	}
	return os.RemoveAll(r.dir)
}
