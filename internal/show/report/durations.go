package report

import (
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// durationsOfGroups contains the durations of each group. The zero value is ready for use,
// concurrently for different groups.
type durationsOfGroups struct {
	mu     sync.Mutex
	groups map[plan.Key]*durations
}

// durations records what has ended in one group and was already reported. Calls for one group are
// sequential.
type durations struct {
	begun    bool               // follow was called before
	rolled   map[rollStart]bool // finished rollouts that the Lease remembers
	replaced map[string]bool    // by UID: replaced pods that still have an intent
}

// rollStart identifies a rollout of a group or of a zone.
type rollStart struct {
	zone  string // empty: of the group
	since int64
}

// stopwatch receives durations that have ended.
type stopwatch interface {
	Stepped(time.Duration)
	ZoneRolled(time.Duration)
	Rolled(time.Duration)
}

func (c *durationsOfGroups) of(key plan.Key) *durations {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.groups == nil {
		c.groups = map[plan.Key]*durations{}
	}
	if c.groups[key] == nil {
		c.groups[key] = &durations{}
	}
	return c.groups[key]
}

func (c *durationsOfGroups) forget(key plan.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.groups, key)
}

// follow reports durations that have ended since the last call, by the times in the Lease. If
// they ended before the first call, the previous leader has reported them.
func (c *durations) follow(w plan.Workload, watch stopwatch) {
	c.steps(w, watch)
	c.rollouts(w.Record().Rollouts, watch)
	c.begun = true
}

func (c *durations) rollouts(r plan.Rollouts, watch stopwatch) {
	rolled := make(map[rollStart]bool, len(c.rolled))
	ended := func(zone string, since, until time.Time, send func(time.Duration)) {
		start := rollStart{zone, since.UnixNano()}
		if until.IsZero() || rolled[start] {
			return
		}
		rolled[start] = true
		if c.begun && !c.rolled[start] {
			send(until.Sub(since))
		}
	}
	for _, g := range append([]plan.RolledGroup{r.Current}, r.Finished...) {
		for _, z := range g.Zones {
			ended(z.Name, z.Since, z.Until, watch.ZoneRolled)
		}
		ended("", g.Since, g.Until, watch.Rolled)
	}
	c.rolled = rolled
}

// steps reports each pod with an intent once it was replaced.
func (c *durations) steps(w plan.Workload, watch stopwatch) {
	replaced := map[string]bool{}
	for _, intent := range w.Record().Intents {
		if intent.Granted() || w.IntentStatus(intent) != plan.Done {
			continue
		}
		pod, present := w.Pod(intent.Pod)
		if !present || !pod.Up() {
			continue // the pod was deleted without replacement, or its zone left the group
		}
		replaced[intent.UID] = true
		if !c.replaced[intent.UID] {
			unit, _ := plan.UnitOf(w, intent.Zone)
			watch.Stepped(replacedAt(w.View().Now, pod, unit.MinReady).Sub(intent.Since))
		}
	}
	c.replaced = replaced
}

// replacedAt returns when a pod became available: when this process saw it become Ready or, if it
// did not, the time in its condition.
func replacedAt(now time.Time, pod plan.Pod, minReady time.Duration) time.Time {
	if at := pod.Seen.Ready.Time(pod.ReadySince); minReady == 0 && pod.Seen.Ready != 0 && at.Before(now) {
		return at
	}
	return seen(now, pod.StableAt(minReady))
}

// seen returns an estimate of when an event happened whose time is known to the second: now, but at
// most a second after that time.
func seen(now, second time.Time) time.Time {
	if end := second.Add(time.Second); now.After(end) {
		return end
	}
	return now
}
