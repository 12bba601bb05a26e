package operator

import (
	"context"
	"maps"
	"time"
)

// cacheVersions returns, by resource, the version up to which each cache shows the cluster. The
// version of a cache that has not been filled is empty.
func (o *Operator) cacheVersions() map[string]string {
	versions := o.observer.Versions()
	maps.Copy(versions, o.references.Versions())
	versions["zoneawarepoddisruptionbudgets"] = o.budgets.Version()
	if o.webhooks != nil {
		maps.Copy(versions, o.webhooks.versions())
	}
	return versions
}

// versions returns the versions of the caches that only webhooks need.
func (w *webhooks) versions() map[string]string {
	versions := map[string]string{}
	if w.injector != nil {
		versions = w.injector.Versions()
	}
	if secret, watched := w.certificates.(interface{ Version() string }); watched {
		versions["secrets"] = secret.Version()
	}
	return versions
}

// waitForCaches waits until all caches are filled. It returns false if ctx ends first.
func (o *Operator) waitForCaches(ctx context.Context) bool {
	const pollEvery = 10 * time.Millisecond
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for !o.observer.Synced() {
		select {
		case <-ctx.Done():
			return false
		case <-poll.C:
		}
	}
	return true
}
