package groups

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// attempts stores which requests of the last plan of each group failed. The executor sends a limited number of requests
// in a limited time. If the same requests came first in every plan, and were refused slowly, the others would never be
// sent. The zero value is ready to use, and safe for concurrent use.
type attempts struct {
	mu     sync.Mutex
	failed map[plan.Key]map[request]time.Time // when each request failed last
}

// request identifies the request of an action in the plans of a group.
type request struct {
	action    reflect.Type
	zone, pod string
}

func requestOf(step plan.Action) request {
	effect := step.Effect()
	return request{reflect.TypeOf(step), effect.Zone, effect.Pod}
}

// sort returns a plan in the order in which to carry it out: requests that failed come after all others, the latest
// failure last.
func (a *attempts) sort(key plan.Key, steps []plan.Action) []plan.Action {
	a.mu.Lock()
	defer a.mu.Unlock()
	failed := a.failed[key]
	if len(failed) == 0 {
		return steps
	}
	sorted := slices.Clone(steps)
	slices.SortStableFunc(sorted, func(x, y plan.Action) int { return failed[requestOf(x)].Compare(failed[requestOf(y)]) })
	return sorted
}

// observe stores what failed of a plan. A request that was not sent keeps its place.
func (a *attempts) observe(key plan.Key, steps []plan.Action, done []plan.Receipt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, now := a.failed[key], time.Now()
	failed := map[request]time.Time{}
	for _, step := range steps {
		if at, known := before[requestOf(step)]; known {
			failed[requestOf(step)] = at
		}
	}
	for _, receipt := range done {
		if receipt.Err != nil {
			failed[requestOf(receipt.Step)] = now
		} else {
			delete(failed, requestOf(receipt.Step))
		}
	}
	switch {
	case len(failed) == 0:
		delete(a.failed, key)
	case a.failed == nil:
		a.failed = map[plan.Key]map[request]time.Time{key: failed}
	default:
		a.failed[key] = failed
	}
}

func (a *attempts) forget(key plan.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.failed, key)
}
