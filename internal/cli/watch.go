package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/cluster/reference"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// watching is the operator's observer with running caches.
type watching struct {
	observer
	namespace string // the only namespace; empty: all
	cache     *reference.Cache
}

// syncTimeout is how long the command waits for the caches to sync.
const syncTimeout = time.Minute

// watch starts the observer and waits until its caches have synced. It notifies changed, if it is not
// nil, of every later change. The function that it returns stops the observer.
func (c *cluster) watch(ctx context.Context, w wanted, changed chan<- struct{}) (*watching, func(), error) {
	seen := &watching{namespace: c.namespace}
	if w.all {
		seen.namespace = ""
	}
	if err := c.mayWatch(ctx, seen.namespace); err != nil {
		return nil, nil, err
	}
	var err error
	if seen.cache, err = c.cache(seen.namespace); err != nil {
		return nil, nil, err
	}
	known := c.budgets(ctx, seen.namespace)
	if seen.observer, err = c.open(seen.namespace, userScales{seen.cache}, known); err != nil {
		return nil, nil, err
	}
	news := func() {
		if changed != nil {
			notify(changed)
		}
	}
	err = seen.Listen(observe.Listener{Group: func(plan.Key) { news() }, Namespace: func(string, bool) { news() }})
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { seen.Run(ctx) })
	running.Go(func() { seen.cache.Run(ctx) })
	running.Go(func() { c.rereadBudgets(ctx, known, news) })
	end := func() { stop(); running.Wait() }
	if err := seen.filled(ctx, w); err != nil {
		end()
		return nil, nil, err
	}
	return seen, end, nil
}

// filled waits until the caches have synced, and then briefly for mirrored resources.
func (seen *watching) filled(ctx context.Context, w wanted) error {
	const step = 20 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, step, syncTimeout, true, func(context.Context) (bool, error) { return seen.Synced(), nil })
	if err != nil {
		return fmt.Errorf("the caches did not sync within %s: %w", syncTimeout, err)
	}
	err = wait.PollUntilContextTimeout(ctx, step, scalesTimeout, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(seen.snapshots(w), waitsForScales), nil
	})
	if err != nil && !wait.Interrupted(err) {
		return err
	}
	return ctx.Err()
}

func waitsForScales(s group.Snapshot) bool {
	return slices.ContainsFunc(s.Zones, func(z group.Zone) bool {
		because := z.Mirror.Scale.Trouble
		return because.Code == reason.ReferenceNotRead && !hidden(because)
	})
}

// mayWatch lists one object of each watched resource. A forbidden watch would be retried for
// ever.
func (c *cluster) mayWatch(ctx context.Context, namespace string) error {
	one := metav1.ListOptions{Limit: 1}
	_, sets := c.client.AppsV1().StatefulSets(namespace).List(ctx, one)
	_, pods := c.client.CoreV1().Pods(namespace).List(ctx, one)
	_, leases := c.client.CoordinationV1().Leases(namespace).List(ctx, one)
	var namespaces error
	if namespace == "" {
		_, namespaces = c.client.CoreV1().Namespaces().List(ctx, one)
	}
	for _, err := range []error{sets, pods, leases, namespaces} {
		if err != nil {
			return withPermissionHint(err)
		}
	}
	return nil
}

// snapshots returns the selected groups from the caches.
func (seen *watching) snapshots(w wanted) []group.Snapshot {
	var all []group.Snapshot
	for _, key := range seen.Groups(seen.namespace) {
		if s := seen.Cached(key).AsRecorded(); w.includes(key) && len(s.Zones) > 0 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b group.Snapshot) int {
		if a.Key.Namespace != b.Key.Namespace {
			return strings.Compare(a.Key.Namespace, b.Key.Namespace)
		}
		return plan.CompareNatural(a.Key.Name, b.Key.Name)
	})
	return all
}
