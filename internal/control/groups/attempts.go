package groups

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// attempts stores when the requests of plans were last sent. The executor sends a limited number of requests in a
// limited time. If the same requests came first in every plan, and were refused slowly, the others would never be sent.
// The zero value is ready to use, and safe for concurrent use.
type attempts struct {
	mu   sync.Mutex
	last map[plan.Key]map[request]attempt
}

// attempt is the last time that a request was sent.
type attempt struct {
	at  time.Time
	err error
}

// attemptsKept is how long the attempts of a group are kept: pods that are in every second plan only must not come
// first in each of these.
const attemptsKept = 10 * time.Minute

// request identifies the request of an action in the plans of a group.
type request struct {
	action    reflect.Type
	zone, pod string
}

func requestOf(step plan.Action) request {
	effect := step.Effect()
	return request{reflect.TypeOf(step), effect.Zone, effect.Pod}
}

// isRequest reports whether the executor sends a request for an action.
func isRequest(step plan.Action) bool {
	switch step.Effect().Order {
	case plan.BeforeLease, plan.Disrupting, plan.UnderHold, plan.WithoutHold:
		return true
	case plan.Nowhere, plan.WithLease, plan.Calling, plan.Notifying:
	}
	return false
}

// sort returns a plan in the order in which to carry it out: requests that were sent come after all others, the latest
// one last.
func (a *attempts) sort(key plan.Key, steps []plan.Action) []plan.Action {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.last[key]
	if len(last) == 0 {
		return steps
	}
	sorted := slices.Clone(steps)
	slices.SortStableFunc(sorted, func(x, y plan.Action) int { return last[requestOf(x)].at.Compare(last[requestOf(y)].at) })
	return sorted
}

// observe stores what was sent of a plan, if a request failed or was left out, or did so before.
func (a *attempts) observe(key plan.Key, steps []plan.Action, done []plan.Receipt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, now := a.last[key], time.Now()
	maps.DeleteFunc(last, func(_ request, t attempt) bool { return now.Sub(t.at) >= attemptsKept })
	if len(last) == 0 && !incomplete(steps, done) {
		delete(a.last, key)
		return
	}
	if last == nil {
		last = map[request]attempt{}
	}
	for _, receipt := range done {
		if isRequest(receipt.Step) && !errors.Is(receipt.Err, plan.ErrNotSent) {
			last[requestOf(receipt.Step)] = attempt{now, receipt.Err}
		}
	}
	if a.last == nil {
		a.last = map[plan.Key]map[request]attempt{}
	}
	a.last[key] = last
}

// incomplete reports whether a request of a plan failed or was not sent.
func incomplete(steps []plan.Action, done []plan.Receipt) bool {
	failed := slices.ContainsFunc(done, func(r plan.Receipt) bool { return r.Err != nil })
	return failed || len(leftOut(steps, done)) > 0
}

// leftOut returns the actions of a plan whose requests were not sent.
func leftOut(steps []plan.Action, done []plan.Receipt) []plan.Action {
	sent := map[request]bool{}
	for _, receipt := range done {
		sent[requestOf(receipt.Step)] = !errors.Is(receipt.Err, plan.ErrNotSent)
	}
	return slices.DeleteFunc(slices.Clone(steps), func(step plan.Action) bool { return !isRequest(step) || sent[requestOf(step)] })
}

// failure returns the error of the last attempt of an action; nil if it succeeded or is not known.
func (a *attempts) failure(key plan.Key, step plan.Action) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[key][requestOf(step)].err
}

func (a *attempts) forget(key plan.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, key)
}
