package lease

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// How often the Store reads the version of Leases, so that it detects a restore even while no group is
// reconciled. After an error it reads more often: a restore is easiest to detect right afterwards, before
// versions have reached their former values.
const (
	askEvery          = 10 * time.Second
	askUnacknowledged = time.Second
)

// RestoredError means that a live read returned an older version than this process knew before the request.
// etcd was restored from a backup, so what this process remembers belongs to another history (ADR 23).
type RestoredError struct {
	What         string // the object or list that was read
	Shown, Known plan.Version
}

// Error implements error.
func (e *RestoredError) Error() string {
	return fmt.Sprintf("etcd was restored from a backup: the API server shows %s at version %d, and version %d was known before", e.What, e.Shown, e.Known)
}

// AwaitRestore returns a RestoredError once a live read has shown that etcd was restored, and nil when ctx
// ends. It makes such a read every ten seconds.
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
				next = askUnacknowledged
			}
			ask.Reset(next)
		}
	}
}

// askVersion compares the version of a live list of Leases with the version that the cache had reached
// before. The version of the list is at least that of the last write before the request.
func (s *Store) askVersion(ctx context.Context) error {
	known, _ := plan.ParseVersion(s.informer.GetStore().LastStoreSyncResourceVersion())
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	options := metav1.ListOptions{Limit: 1}
	holdsOnly(s.labels)(&options)
	list, err := s.client.CoordinationV1().Leases(s.namespace).List(ctx, options)
	if err != nil {
		return fmt.Errorf("list Leases: %w", err)
	}
	return s.checkVersion("Leases", list.ResourceVersion, known)
}

// checkVersion returns a RestoredError, and passes it to AwaitRestore, if a live read returned an older
// version than was known before the request.
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
