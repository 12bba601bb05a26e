package report

import (
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// durationsOfGroups remembers of each group what takes time and has not ended. The zero
// value is ready for use, by several goroutines for different groups.
type durationsOfGroups struct {
	mu     sync.Mutex
	groups map[plan.Key]*durations
}

// durations is what of one group has ended and been told of. Looks at a group come one
// after the other.
type durations struct {
	begun    bool               // it was looked at before
	rolled   map[rollStart]bool // rollouts that the Lease remembers and that have ended
	replaced map[string]bool    // by UID: pods that are noted still and have been replaced
}

// rollStart tells rollouts of a group apart, and those of its zones.
type rollStart struct {
	zone  string // empty: of the group
	since int64
}

// stopwatch takes what has ended.
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

// follow tells of what has ended since the last look, by the times of the Lease. What
// had ended before the first look is told of by who led then.
func (c *durations) follow(s plan.Snapshot, watch stopwatch) {
	c.steps(s, watch)
	c.rollouts(s.Hold.Rollouts, watch)
	c.begun = true
}

func (c *durations) rollouts(r plan.Rollouts, watch stopwatch) {
	rolled := make(map[rollStart]bool, len(c.rolled))
	ended := func(zone string, since, until time.Time, tell func(time.Duration)) {
		start := rollStart{zone, since.UnixNano()}
		if until.IsZero() || rolled[start] {
			return
		}
		rolled[start] = true
		if c.begun && !c.rolled[start] {
			tell(until.Sub(since))
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

// steps tells of pods that are noted and have been replaced, each once.
func (c *durations) steps(s plan.Snapshot, watch stopwatch) {
	replaced := map[string]bool{}
	for _, intent := range s.Hold.Intents {
		if intent.Granted() || s.IntentStatus(intent) != plan.Done {
			continue
		}
		pod, present := s.Pod(intent.Pod)
		if !present || !pod.Up() {
			continue // it left for good, or its zone did
		}
		replaced[intent.UID] = true
		if !c.replaced[intent.UID] {
			zone, _ := s.Zone(intent.Zone)
			watch.Stepped(replacedAt(s.Now, pod, zone.MinReady).Sub(intent.Since))
		}
	}
	c.replaced = replaced
}

// replacedAt returns when a pod was available: as this process saw it become Ready, or else
// as its condition says.
func replacedAt(now time.Time, pod plan.Pod, minReady time.Duration) time.Time {
	if at := pod.Seen.Ready.Time(pod.ReadySince); minReady == 0 && pod.Seen.Ready != 0 && at.Before(now) {
		return at
	}
	return seen(now, pod.StableAt(minReady))
}

// seen is when something happened that is known to the second: the look that shows
// it, unless that came late.
func seen(now, second time.Time) time.Time {
	if end := second.Add(time.Second); now.After(end) {
		return end
	}
	return now
}
