package group

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Contest is what a process remembers of its last write to spec.replicas of a zone, and of
// another writer that overwrites it, such as a GitOps tool whose manifest has another number.
// The zero Contest is none.
//
// It is in the memory of the leading process, so a restart or a change of the leader resets the
// count. No guarantee depends on it. It informs users, and it protects the pods that two
// writers would create and delete in turn.
type Contest struct {
	Replicas    int       // the last number that lockstep wrote
	At          time.Time // when lockstep wrote it; zero: the zone should have a different number since then
	Overwritten bool      // the zone has another number than lockstep wrote, although it should have that number
	Overwrites  int       // how often another writer has overwritten a number of lockstep
	Last        time.Time // when lockstep observed the last overwrite
	Writer      string    // the field manager that overwrites; empty: unknown
}

const (
	// contestedFrom is the number of overwrites from which lockstep reports a contest and
	// pauses between its writes. A person or a tool that writes a number once or twice is not a
	// second writer yet.
	contestedFrom = 3
	// firstPause is the pause between two writes of lockstep at contestedFrom overwrites. Each
	// further overwrite doubles the pause, up to longestPause.
	firstPause, longestPause = 10 * time.Second, 5 * time.Minute
	// contestOver is the time without an overwrite after which a contest is over. It is longer
	// than longestPause, and longer than the intervals at which tools usually apply their
	// manifests.
	contestOver = 15 * time.Minute
)

// None reports whether the process remembers nothing.
func (c Contest) None() bool { return c == Contest{} }

// Contested reports whether another writer has overwritten the replicas so often that a
// person should know.
func (c Contest) Contested() bool { return c.Overwrites >= contestedFrom }

// ends returns when the contest is over, unless lockstep writes again or is overwritten again.
func (c Contest) ends() time.Time {
	if c.At.After(c.Last) {
		return c.At.Add(contestOver)
	}
	return c.Last.Add(contestOver)
}

// seen returns the contest after an observation of the zone and of its wish. A number counts as
// overwritten only while the wish is the number that lockstep wrote. If the wish changes, as
// that of a follower changes with its leader, the next write does not answer another writer.
func (c Contest) seen(z *Zone, w wish, now time.Time) Contest {
	left := c.ends().Sub(now)
	switch {
	case c.None():
		return c
	case left <= 0, left > 2*contestOver: // over, or the clock was set back
		return Contest{}
	case c.At.IsZero():
	case w.none() || w.immediate != c.Replicas:
		c.At, c.Overwritten = time.Time{}, false
	case z.Replicas == c.Replicas:
		c.Overwritten = false
	case !c.Overwritten:
		c.Overwritten, c.Last = true, now
		c.Overwrites++
	}
	return c
}

// wrote returns the contest after lockstep has written a number.
func (c Contest) wrote(replicas int, now time.Time) Contest {
	c.Replicas, c.At, c.Overwritten = replicas, now, false
	return c
}

// pause returns how long lockstep pauses between two writes.
func (c Contest) pause() time.Duration {
	pause := firstPause
	for n := contestedFrom; n < c.Overwrites && pause < longestPause; n++ {
		pause *= 2
	}
	return min(pause, longestPause)
}

// objection objects to another write during the pause after a number of lockstep was
// overwritten. A clock that was set back does not prolong the pause.
func (c Contest) objection(now time.Time) plan.Refusal {
	until := c.At.Add(c.pause())
	if !c.Contested() || !c.Overwritten || c.At.After(now) || !now.Before(until) {
		return plan.Refusal{}
	}
	return plan.Refusal{Code: reason.ReplicasContested, Detail: c.by(), Until: until}
}

// longestWriter is how many characters of the name of a field manager are reported.
const longestWriter = 63

// by names the other writer if it is known. A client can choose any name, so by quotes it.
func (c Contest) by() string {
	if c.Writer == "" {
		return ""
	}
	return fmt.Sprintf("field manager %+.*q", longestWriter, c.Writer)
}

// Contests returns what to remember of the zones of a group, by their UIDs. The plan was made
// from s, and the receipts say what was done. Zones with nothing to remember are left out.
func Contests(s Snapshot, done []plan.Receipt) map[string]Contest {
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

// ContestEnds returns when the first reported contest is over, and the zero time if there is
// none.
func ContestEnds(s Snapshot) time.Time {
	var first time.Time
	for i := range s.Zones {
		if c := s.Zones[i].Contest; c.Contested() {
			first = earlier(first, c.ends())
		}
	}
	return first
}
