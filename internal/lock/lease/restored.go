package lease

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// How often the API server is asked for the version of Leases, so that a restore is noticed
// although no group is worked on. While it does not answer it is asked more often: a
// restore shows best right after it, before versions have got to where they were.
const (
	askEvery   = 10 * time.Second
	askUnheard = time.Second
)

// RestoredError says that a live read has shown an older version than this process knew
// before it sent the request: etcd was restored from a backup, and what this process
// remembers is of another history (ADR 23).
type RestoredError struct {
	What         string // that was read
	Shown, Known plan.Version
}

// Error implements error.
func (e *RestoredError) Error() string {
	return fmt.Sprintf("etcd was restored from a backup: the API server shows %s at version %d, and version %d was known before", e.What, e.Shown, e.Known)
}

// AwaitRestore returns a RestoredError once a live read has shown that etcd was restored,
// and nil when ctx ends. It makes such a read itself every ten seconds.
func (s *Store) AwaitRestore(ctx context.Context) error {
	ask := time.NewTimer(askEvery)
	defer ask.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.restored:
			return err
		case <-ask.C:
			next := askEvery
			if err := s.askVersion(ctx); err != nil {
				next = askUnheard
			}
			ask.Reset(next)
		}
	}
}

// askVersion compares the version of a list of Leases, which is at least that of the last
// write before the request, with the one that the cache had got to before.
func (s *Store) askVersion(ctx context.Context) error {
	known, _ := plan.ParseVersion(s.informer.GetStore().LastStoreSyncResourceVersion())
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	options := metav1.ListOptions{Limit: 1}
	holdsOnly(&options)
	list, err := s.client.CoordinationV1().Leases(s.namespace).List(ctx, options)
	if err != nil {
		return fmt.Errorf("list Leases: %w", err)
	}
	return s.checkVersion("Leases", list.ResourceVersion, known)
}

// checkVersion returns a RestoredError, for AwaitRestore as well, if what a live read has
// shown is older than the version that was known before the request was sent.
func (s *Store) checkVersion(what, shown string, known plan.Version) error {
	version, ok := plan.ParseVersion(shown)
	if !ok || version >= known {
		return nil
	}
	err := &RestoredError{What: what, Shown: version, Known: known}
	select {
	case s.restored <- err:
	default: // one is enough
	}
	return err
}
