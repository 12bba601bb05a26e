package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// withholds delays all lists and watches of a resource until release is called.
func (c *trial) withholds(resource string) (release func()) {
	c.t.Helper()
	released := make(chan struct{})
	waits := faultproxy.CrashBefore(func() { <-released })
	c.proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		lists := r.Kind == faultproxy.Watch || (r.Method == http.MethodGet && r.Name == "")
		if r.Resource == resource && lists {
			return waits
		}
		return faultproxy.Fault{}
	})
	release = sync.OnceFunc(func() {
		c.proxy.Play(nil)
		close(released)
	})
	c.t.Cleanup(release)
	return release
}

// unsynced returns a trial whose operator was restarted and receives no pods until the returned
// function is called.
func unsynced(t *testing.T) (*trial, *beginner, func()) {
	t.Helper()
	c := onTrial(t, withoutElection)
	op := c.start()
	c.isCalled()
	c.barsToo(c.secret().Data["ca"])
	c.create(zone("zone-a", 3, prepares), zone("zone-b", 2, prepares))
	op.Kill()
	release := c.withholds("pods")
	b := c.begins()
	c.notReady(b.get, "caches: the caches are not filled yet", "certificate: ok")
	return c, b, release
}

// notReady waits until /ready of an operator reports that it is not ready, with these words.
func (c *trial) notReady(get func(path string) (int, string), words ...string) {
	c.t.Helper()
	c.eventually("it is not ready", func(present) error {
		code, body := get("/ready")
		for _, word := range words {
			if code != http.StatusInternalServerError || !strings.Contains(body, word) {
				return fmt.Errorf("/ready answers %d: %s", code, body)
			}
		}
		return nil
	})
}

func TestNothingIsRolledBeforeTheCachesAreFilled(t *testing.T) {
	t.Parallel()
	c, b, release := unsynced(t)
	c.changeAll(version(2))
	c.nothingIsDeleted("before the caches are filled")
	release()
	b.ready()
	c.settled()
	c.wantDeletions(c.allPods()...)
}

func TestADownscaleIsRefusedBeforeTheCachesAreFilled(t *testing.T) {
	t.Parallel()
	c, b, release := unsynced(t)
	c.refusesAll("zone-a", apierrors.IsTooManyRequests, "the caches of this replica have not synced yet")
	c.keepsBarred(patched, scaled)
	release()
	b.ready()
	c.scalesDownAtLast(scaled, "zone-a")
	c.settled()
	c.removedPrepared("zone-a-2")
}
