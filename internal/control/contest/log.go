// Package contest remembers which zones of a group another writer keeps from having the
// replicas that lockstep sets. The rule, when a number is overwritten and how long lockstep
// waits before it writes again, is in internal/plan; this package keeps what one plan
// learns for the next one.
//
// It remembers while its process leads, and no longer: that spares the pods and tells
// people, and nothing about safety depends on it.
package contest

import (
	"slices"
	"strings"
	"sync"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Log is what is remembered of each group. Its methods may be called concurrently.
type Log struct {
	mu     sync.Mutex
	groups map[plan.Key]map[string]plan.Contest // by UID of the zone
}

// NewLog returns an empty Log.
func NewLog() *Log { return &Log{groups: map[plan.Key]map[string]plan.Contest{}} }

// Fill completes the zones of a snapshot by what is remembered of them.
func (l *Log) Fill(s *plan.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.groups[s.Key]
	if len(known) == 0 {
		return
	}
	for i := range s.Zones {
		s.Zones[i].Contest = known[s.Zones[i].UID]
	}
}

// Planned remembers what a plan that was made from s shows, and of which these receipts
// say what was done. It returns the zones in which another writer has overwritten the
// replicas since the plan before, in order of their names.
func (l *Log) Planned(s plan.Snapshot, done []plan.Receipt) []Overwritten {
	next := plan.Contests(s, done)
	var news []Overwritten
	for _, z := range s.Zones {
		if c := next[z.UID]; c.Overwrites > z.Contest.Overwrites {
			news = append(news, Overwritten{Zone: z.Name, UID: z.UID, Unnamed: c.Contested() && c.Writer == ""})
		}
	}
	slices.SortFunc(news, func(a, b Overwritten) int { return strings.Compare(a.Zone, b.Zone) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(next) == 0 {
		delete(l.groups, s.Key)
	} else {
		l.groups[s.Key] = next
	}
	return news
}

// Overwritten is a zone whose replicas another writer has overwritten.
type Overwritten struct {
	Zone    string
	UID     string
	Unnamed bool // people are told of it, and the writer is not known
}

// Name remembers the field manager that overwrites the replicas of a zone. Of a zone of
// which nothing is remembered it remembers no field manager.
func (l *Log) Name(key plan.Key, uid, writer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, known := l.groups[key][uid]; known {
		c.Writer = writer
		l.groups[key][uid] = c
	}
}

// Forget drops what is remembered of a group.
func (l *Log) Forget(key plan.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.groups, key)
}
