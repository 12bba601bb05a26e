package operator

import (
	"context"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/control/rolloutgroup"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/show/report"
)

// rolloutGroupLoop is the name of the loop over RolloutGroups in logs and metrics.
const rolloutGroupLoop = "rolloutgroup"

// rolloutGroupWriter writes the state of groups into RolloutGroups while this process is the leader.
type rolloutGroupWriter struct {
	cache      *rolloutgroup.Cache
	controller *rolloutgroup.Controller
	loop       *loop.Loop[rolloutgroup.Name]
}

func (o *Operator) newRolloutGroupWriter() *rolloutGroupWriter {
	s := &rolloutGroupWriter{cache: rolloutgroup.NewCache(rolloutgroup.CacheOptions{
		Client: o.clients.foreign.dynamic, Metadata: o.clients.foreign.metadata, Namespace: o.config.Kubernetes.Namespace, Log: o.log,
	})}
	s.controller = rolloutgroup.New(rolloutgroup.Options{
		Cache: s.cache, Observer: o.observer, Client: o.clients.dynamic, Log: o.log,
		Soon: func(n rolloutgroup.Name, d time.Duration) { s.loop.AddAfter(n, d) },
	})
	s.loop = loop.New(loop.Options[rolloutgroup.Name]{ // without spans: a rollout causes many of these
		Name:      rolloutGroupLoop,
		Workers:   2,
		Reconcile: s.controller.Reconcile,
		Namespace: func(n rolloutgroup.Name) string { return n.Namespace },
		Log:       o.log,
		Queues:    o.metrics.Queues(),
		Observe:   panics[rolloutgroup.Name](o.metrics, rolloutGroupLoop),
	})
	return s
}

// show writes RolloutGroups until ctx ends and every worker has returned. It does not keep
// leadership for a watch that ends late.
func (o *Operator) show(ctx context.Context, s *rolloutGroupWriter) {
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		if o.waitForCaches(ctx) {
			s.cache.Run(ctx)
		}
	}()
	s.loop.Run(ctx)
	awaitBriefly(watching)
}

// look enqueues the existing RolloutGroups of a namespace that opted in. The groups of some may
// not exist any more.
func (s *rolloutGroupWriter) look(namespace string) {
	for _, n := range s.cache.In(namespace) {
		s.loop.Add(n)
	}
}

// reporters reports plans to the reporter and, while this process is the leader, to RolloutGroups.
type reporters struct {
	*report.Reporter
	showing func() *rolloutGroupWriter // may return nil
}

// Group reports one plan, and returns the results of the reporter.
func (v reporters) Group(s group.Snapshot, steps []plan.Action, done []plan.Receipt) (news bool, due time.Duration) {
	if showing := v.showing(); showing != nil {
		showing.controller.Take(s, steps)
	}
	return v.Reporter.Group(s, steps, done)
}

// Forget drops a group that does not exist any more.
func (v reporters) Forget(key plan.Key) {
	if showing := v.showing(); showing != nil {
		showing.controller.Forget(key)
	}
	v.Reporter.Forget(key)
}

// asks reports whether a permission is needed. If no RolloutGroups exist, their permissions are
// not.
func (o *Operator) asks(need permission.Need) bool {
	showing := o.showing.Load()
	return !strings.HasPrefix(need.Resource, rolloutgroup.Resource.Resource) || (showing != nil && showing.cache.Present())
}
