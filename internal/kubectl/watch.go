package kubectl

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lockstep-dev/lockstep/internal/kubectl/screen"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
	"github.com/lockstep-dev/lockstep/internal/reference"
)

// watching are the operator's eyes, open.
type watching struct {
	eyes
	namespace string // the only one; empty: all
	book      *reference.Book
}

// fillsIn is how long caches may take to be filled.
const fillsIn = time.Minute

// watch opens the operator's eyes and waits until they have seen everything. Changed
// is told of every change after that, if it is not nil. The function that it returns
// closes them.
func (c *cluster) watch(ctx context.Context, w wanted, changed chan<- struct{}) (*watching, func(), error) {
	seen := &watching{namespace: c.namespace}
	if w.all {
		seen.namespace = ""
	}
	if err := c.mayWatch(ctx, seen.namespace); err != nil {
		return nil, nil, err
	}
	var err error
	if seen.book, err = c.book(seen.namespace); err != nil {
		return nil, nil, err
	}
	if seen.eyes, err = c.open(seen.namespace, ownSight{seen.book}, c.budgets(ctx, seen.namespace)); err != nil {
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
	running.Go(func() { seen.book.Run(ctx) })
	end := func() { stop(); running.Wait() }
	if err := seen.filled(ctx, w); err != nil {
		end()
		return nil, nil, err
	}
	return seen, end, nil
}

// filled waits until the caches are filled, and then a little for what zones mirror.
func (seen *watching) filled(ctx context.Context, w wanted) error {
	const step = 20 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, step, fillsIn, true, func(context.Context) (bool, error) { return seen.Synced(), nil })
	if err != nil {
		return fmt.Errorf("the cluster did not show everything within %s: %w", fillsIn, err)
	}
	err = wait.PollUntilContextTimeout(ctx, step, patience, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(seen.snapshots(w), unseen), nil
	})
	if err != nil && !wait.Interrupted(err) {
		return err
	}
	return ctx.Err()
}

func unseen(s plan.Snapshot) bool {
	return slices.ContainsFunc(s.Zones, func(z plan.Zone) bool {
		because := z.Mirror.Scale.Trouble
		return because.Code == reason.ReferenceUnseen && !hidden(because)
	})
}

// mayWatch asks once for everything that is about to be watched: a watch itself would
// try again for ever.
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
			return allowed(err)
		}
	}
	return nil
}

// snapshots returns the groups that are wanted, as the caches show them.
func (seen *watching) snapshots(w wanted) []plan.Snapshot {
	var all []plan.Snapshot
	for _, key := range seen.Groups(seen.namespace) {
		if s := seen.Cached(key).AsNoted(); w.includes(key) && len(s.Zones) > 0 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b plan.Snapshot) int {
		if a.Key.Namespace != b.Key.Namespace {
			return strings.Compare(a.Key.Namespace, b.Key.Namespace)
		}
		return plan.CompareNatural(a.Key.Group, b.Key.Group)
	})
	return all
}

// together is for how long changes are collected before they are shown.
const together = 100 * time.Millisecond

// follow shows groups and what becomes of them, until ctx ends.
func (a *app) follow(ctx context.Context, c *cluster, w wanted) error {
	changed := make(chan struct{}, 1)
	seen, end, err := c.watch(ctx, w, changed)
	if err != nil {
		return err
	}
	defer end()
	if len(w.names) == 1 && len(seen.snapshots(w)) == 0 {
		return c.unknownGroup(ctx, c.group(w.names[0]))
	}
	show := a.tell()
	if a.style.Bars {
		show = a.draw
	}
	var shown []groupView
	for first := true; ; first = false {
		var views []groupView
		for _, s := range seen.snapshots(w) {
			views = append(views, viewOf(s))
		}
		if first || !reflect.DeepEqual(views, shown) {
			if err := show(views); err != nil {
				return err
			}
		}
		shown = views
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(together):
		}
	}
}

// draw shows groups in place of what the screen shows.
func (a *app) draw(views []groupView) error {
	const home, rest = "\x1b[H", "\x1b[J"
	p := a.page()
	for _, v := range views {
		addGroup(p, v, a.now())
	}
	return a.write(home + strings.ReplaceAll(p.String(), "\n", "\x1b[K\n") + rest)
}

// tell returns what writes, of groups, the lines that differ from those before.
func (a *app) tell() func([]groupView) error {
	told := map[string]string{}
	return func(views []groupView) error {
		p := a.page()
		now := map[string]string{}
		for _, v := range views {
			about := v.Namespace + "/" + v.Group
			now[about] = strings.TrimSpace(v.Activity + " " + v.Holder)
			for _, z := range v.Zones {
				waits := ""
				if z.Waits != nil {
					waits = " waits for " + z.Waits.short()
				}
				now[about+" "+z.Name] = fmt.Sprintf("%s updated %d/%d ready %d/%d%s", z.Activity, z.Done, z.Replicas, z.Ready, z.Replicas, waits)
			}
		}
		for about := range told {
			if _, still := now[about]; !still {
				now[about] = "is gone"
			}
		}
		for _, about := range slices.Sorted(maps.Keys(now)) {
			if text := now[about]; told[about] != text {
				p.Line(screen.Text(screen.Clock(a.now())), screen.Text(about), screen.Text(text))
			}
		}
		told = now
		maps.DeleteFunc(told, func(_, text string) bool { return text == "is gone" })
		return a.print(p)
	}
}
