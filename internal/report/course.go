package report

import (
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// courses remembers of each group what takes time and has not ended. The zero
// courses are ready for use, by several goroutines for different groups.
type courses struct {
	mu     sync.Mutex
	groups map[plan.Key]*course
}

// course is what goes on in one group, whose looks come one after the other.
type course struct {
	rollout  time.Time            // when it began; zero: none is under way
	zones    map[string]time.Time // when the rollout of a zone began
	replaced map[string]bool      // by UID: pods that are noted still and have been replaced
}

// stopwatch takes what has ended.
type stopwatch interface {
	Stepped(time.Duration)
	ZoneRolled(time.Duration)
	Rolled(time.Duration)
}

func (c *courses) of(key plan.Key) *course {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.groups == nil {
		c.groups = map[plan.Key]*course{}
	}
	if c.groups[key] == nil {
		c.groups[key] = &course{zones: map[string]time.Time{}}
	}
	return c.groups[key]
}

func (c *courses) forget(key plan.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.groups, key)
}

// follow tells of what has ended since the last look. When it began is what the Lease
// says, so a restart within a zone changes nothing.
func (c *course) follow(s plan.Snapshot, watch stopwatch) {
	c.steps(s, watch)
	rolling := ""
	if holder := s.Hold.Holder; holder.Operation() == plan.Rollout && !s.Hold.Since.IsZero() {
		rolling = holder.Zone()
		c.begin(rolling, s.Hold.Since)
	}
	for zone, since := range c.zones {
		if zone != rolling && upToDate(s, zone) {
			watch.ZoneRolled(endOf(s, since).Sub(since))
			delete(c.zones, zone)
		}
	}
	if rolling == "" && !c.rollout.IsZero() && allUpToDate(s) {
		watch.Rolled(endOf(s, c.rollout).Sub(c.rollout))
		c.rollout = time.Time{}
	}
}

func (c *course) begin(zone string, since time.Time) {
	if c.zones[zone].IsZero() {
		c.zones[zone] = since
	}
	if c.rollout.IsZero() {
		c.rollout = since
	}
}

// steps tells of pods that are noted and have been replaced, each once.
func (c *course) steps(s plan.Snapshot, watch stopwatch) {
	replaced := map[string]bool{}
	for _, intent := range s.Hold.Intents {
		if intent.Granted() || s.Fate(intent) != plan.Done {
			continue
		}
		pod, present := s.Pod(intent.Pod)
		if !present {
			continue // it left for good
		}
		replaced[intent.UID] = true
		if !c.replaced[intent.UID] {
			zone, _ := s.Zone(intent.Zone)
			watch.Stepped(seen(s.Now, pod.StableAt(zone.MinReady)).Sub(intent.Since))
		}
	}
	c.replaced = replaced
}

// seen is when something happened that is known to the second: the look that shows
// it, unless that came late.
func seen(now, second time.Time) time.Time {
	if end := second.Add(time.Second); now.After(end) {
		return end
	}
	return now
}

// endOf is when an operation that began at a time gave way: to the holder after it,
// or by this look.
func endOf(s plan.Snapshot, began time.Time) time.Time {
	if s.Hold.Since.After(began) {
		return s.Hold.Since
	}
	return s.Now
}

func allUpToDate(s plan.Snapshot) bool {
	return !slices.ContainsFunc(s.Zones, func(z plan.Zone) bool { return !upToDate(s, z.Name) })
}

// upToDate tells whether no pod of a zone is of another revision than it should be.
// A zone that is gone has none.
func upToDate(s plan.Snapshot, zone string) bool {
	z, _ := s.Zone(zone)
	return !slices.ContainsFunc(z.Pods, z.Outdated)
}
