package admission

import (
	"context"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// outlook answers evictions from one count of a workload.
type outlook interface {
	Evict(plan.EvictionRequest) plan.EvictionAnswer
}

// evictable is a workload from which clients evict pods, as observed once.
type evictable interface {
	plan.Workload
	snapshot() plan.Workload
	outlook() outlook
	// violation returns the safety rule that a grant breaks; nil: none.
	violation(plan.EvictionRequest, plan.EvictionAnswer, hold.Decision) *invariant.Violation
}

// PoolObserver shows StatefulClusters.
type PoolObserver interface {
	Cached(plan.Key) pool.Snapshot
	Live(context.Context, plan.Key) (pool.Snapshot, error)
}

// cached returns a workload as the caches show it.
func (p *PodEviction) cached(key plan.Key) evictable {
	if key.Kind == plan.KindStatefulCluster {
		s := p.Pools.Cached(key)
		return evictablePool{&s}
	}
	s := p.Observer.Cached(key)
	return evictableGroup{&s}
}

// live reads a workload from the API server.
func (p *PodEviction) live(ctx context.Context, key plan.Key) (evictable, error) {
	if key.Kind == plan.KindStatefulCluster {
		s, err := p.Pools.Live(ctx, key)
		return evictablePool{&s}, err
	}
	s, err := p.Observer.Live(ctx, key)
	return evictableGroup{&s}, err
}

type evictableGroup struct{ *group.Snapshot }

func (g evictableGroup) snapshot() plan.Workload { return g.Snapshot }

func (g evictableGroup) outlook() outlook { return group.OutlookOf(*g.Snapshot) }

func (g evictableGroup) violation(ask plan.EvictionRequest, permit plan.EvictionAnswer, d hold.Decision) *invariant.Violation {
	return invariant.CheckEviction(*g.Snapshot, ask, permit, d)
}

type evictablePool struct{ *pool.Snapshot }

func (p evictablePool) snapshot() plan.Workload { return p.Snapshot }

func (p evictablePool) outlook() outlook { return pool.OutlookOf(*p.Snapshot) }

func (p evictablePool) violation(ask plan.EvictionRequest, permit plan.EvictionAnswer, d hold.Decision) *invariant.Violation {
	return pools.CheckEviction(*p.Snapshot, ask, permit, d)
}
