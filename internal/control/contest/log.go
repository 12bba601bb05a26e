// Package contest stores which zones' replicas another writer keeps overwriting. The rules are
// in internal/plan: when a number counts as overwritten, and how long lockstep waits before it
// writes again. This package keeps the results of one plan for the next one.
//
// The state lasts as long as the process leads. It protects pods from needless changes and
// serves reports. No guarantee depends on it.
package contest

import (
	"slices"
	"strings"
	"sync"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Log stores the contests of each group. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	groups map[plan.Key]map[string]group.Contest // by UID of the zone
}

// NewLog returns an empty Log.
func NewLog() *Log { return &Log{groups: map[plan.Key]map[string]group.Contest{}} }

// Fill adds the stored contests to the zones of a snapshot.
func (l *Log) Fill(s *group.Snapshot) {
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

// Planned stores the contests after a plan that was made from s and carried out with these
// receipts. It returns the zones whose replicas another writer has overwritten since the last
// plan, ordered by name.
func (l *Log) Planned(s group.Snapshot, done []plan.Receipt) []Overwritten {
	next := group.Contests(s, done)
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
	Unnamed bool // the contest is reported, and the writer is unknown
}

// Name stores the field manager that overwrites the replicas of a zone. It does nothing if the
// zone has no contest.
func (l *Log) Name(key plan.Key, uid, writer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, known := l.groups[key][uid]; known {
		c.Writer = writer
		l.groups[key][uid] = c
	}
}

// Forget drops the contests of a group.
func (l *Log) Forget(key plan.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.groups, key)
}
