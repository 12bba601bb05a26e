package plan

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Contest is what a process remembers of its last write to spec.replicas of a zone and of
// another writer that overwrites it, such as a GitOps tool whose manifest has a number of
// its own. The zero Contest is none.
//
// It lives in the memory of the process that leads: a restart, or another leader, counts
// anew. That is enough, since nothing about safety depends on it. It tells people, and
// spares the pods that two writers create and delete in turn.
type Contest struct {
	Replicas    int       // what lockstep wrote last
	At          time.Time // when it wrote that; zero: the zone should have another number since
	Overwritten bool      // the zone has another number than lockstep wrote, and should not
	Overwrites  int       // how often another writer has overwritten what lockstep wrote
	Last        time.Time // when lockstep saw the last of these
	Writer      string    // the field manager that overwrites; empty: not known
}

const (
	// contestedFrom is with which overwrite a contest is told and writes are spaced out: a
	// person or a tool that writes a number once or twice is no second writer yet.
	contestedFrom = 3
	// firstPause is between two writes of lockstep from then on. It doubles with each
	// overwrite, up to longestPause.
	firstPause, longestPause = 10 * time.Second, 5 * time.Minute
	// contestOver is after how long without an overwrite a contest is over. It is longer
	// than longestPause and the intervals at which tools usually apply their manifests.
	contestOver = 15 * time.Minute
)

// None reports whether nothing is remembered.
func (c Contest) None() bool { return c == Contest{} }

// Contested reports whether another writer has overwritten the replicas so often that a
// person should know.
func (c Contest) Contested() bool { return c.Overwrites >= contestedFrom }

// ends returns when the contest is over unless lockstep writes or is overwritten again.
func (c Contest) ends() time.Time {
	if c.At.After(c.Last) {
		return c.At.Add(contestOver)
	}
	return c.Last.Add(contestOver)
}

// seen returns the contest as it is once a zone is seen that should have as many replicas
// as a wish says. A number is overwritten only if the wish is still the one that lockstep
// wrote: when the wish changes, as that of a follower with its leader, the next write is
// not an answer to another writer.
func (c Contest) seen(z *Zone, w wish, now time.Time) Contest {
	left := c.ends().Sub(now)
	switch {
	case c.None():
		return c
	case left <= 0, left > 2*contestOver: // over, or the clock was set back
		return Contest{}
	case c.At.IsZero():
	case w.none() || w.asked != c.Replicas:
		c.At, c.Overwritten = time.Time{}, false
	case z.Replicas == c.Replicas:
		c.Overwritten = false
	case !c.Overwritten:
		c.Overwritten, c.Last = true, now
		c.Overwrites++
	}
	return c
}

// wrote returns the contest once lockstep has written a number.
func (c Contest) wrote(replicas int, now time.Time) Contest {
	c.Replicas, c.At, c.Overwritten = replicas, now, false
	return c
}

// pause is how long lockstep leaves between two writes.
func (c Contest) pause() time.Duration {
	pause := firstPause
	for n := contestedFrom; n < c.Overwrites && pause < longestPause; n++ {
		pause *= 2
	}
	return min(pause, longestPause)
}

// objection objects to another write while what lockstep wrote a moment ago has been
// overwritten. A clock that was set back makes no pause longer.
func (c Contest) objection(now time.Time) Refusal {
	until := c.At.Add(c.pause())
	if !c.Contested() || !c.Overwritten || c.At.After(now) || !now.Before(until) {
		return Refusal{}
	}
	return Refusal{Code: reason.ReplicasContested, Detail: c.by(), Until: until}
}

// longestWriter is how much of the name of a field manager is told, in bytes.
const longestWriter = 63

// by names the other writer, as far as it is known. Anybody may call themselves anything.
func (c Contest) by() string {
	if c.Writer == "" {
		return ""
	}
	return fmt.Sprintf("field manager %+.*q", longestWriter, c.Writer)
}

// Contests returns what to remember of the zones of a group, by their UIDs, after a plan
// that was made from s and of which these receipts say what was done. Zones of which
// nothing is to be remembered are left out.
func Contests(s Snapshot, done []Receipt) map[string]Contest {
	written := map[string]int{}
	for _, receipt := range done {
		if a, sets := receipt.Step.(SetReplicas); sets && receipt.Err == nil {
			written[a.UID] = a.To
		}
	}
	if len(written) == 0 && !remembersContest(s) {
		return nil
	}
	contests := map[string]Contest{}
	for _, z := range newGroupState(s).zoneStates {
		c := z.contest
		if replicas, is := written[z.UID]; is {
			c = c.wrote(replicas, s.Now)
		}
		if !c.None() {
			contests[z.UID] = c
		}
	}
	return contests
}

func remembersContest(s Snapshot) bool {
	for i := range s.Zones {
		if !s.Zones[i].Contest.None() {
			return true
		}
	}
	return false
}

// ContestEnds returns when the first contest that is told is over, and the zero time if
// none is told.
func ContestEnds(s Snapshot) time.Time {
	var first time.Time
	for i := range s.Zones {
		if c := s.Zones[i].Contest; c.Contested() {
			first = earlier(first, c.ends())
		}
	}
	return first
}
