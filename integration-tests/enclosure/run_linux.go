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

// run is the state of a run on the machine until it ends: a folder, with a lock that its owner
// holds, and control groups with the name of the folder.
type run struct {
	dir  string
	lock *os.File
}

// sweepTimeout is how long to wait for other processes that do the same.
const sweepTimeout = time.Minute

// newRun creates the folder of a run. Before that, it removes the remains of killed runs. No other
// process creates or removes a run at the same time.
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
	if err := os.Chmod(dir, 0o755); err != nil { // programs in it have their own users
		return nil, err
	}
	lock, err := flock.Try(dir)
	return &run{dir, lock}, err
}

// sweep removes the runs whose owner has ended. The next run tries again to remove the rest.
func sweep() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range folders {
		if lock, err := flock.Try(dir); err == nil {
			_ = (&run{dir, lock}).end()
		}
	}
}

// makeControlGroups creates the control groups of the run.
func (r *run) makeControlGroups() error {
	if unified() {
		handed, err := hand(hierarchies)
		if err := errors.Join(err, os.WriteFile(r.handedFile(), []byte(strings.Join(handed, " ")), 0o600)); err != nil {
			return err
		}
	}
	return makeControlGroups(filepath.Base(r.dir))
}

// handedFile returns the path of the list of controllers that the run enabled in the machine's
// control groups.
func (r *run) handedFile() string { return filepath.Join(r.dir, ".handed") }

// end removes a run. It removes the folder last, because the folder is needed to find the rest.
func (r *run) end() error {
	defer r.lock.Close()
	handed, _ := os.ReadFile(r.handedFile()) // the file does not exist if none were enabled
	if err := errors.Join(
		removeControlGroups(filepath.Base(r.dir)),
		takeBack(hierarchies, strings.Fields(string(handed))),
	); err != nil {
		return fmt.Errorf("remove the control groups of the enclosure: %w", err)
	}
	return os.RemoveAll(r.dir)
}
