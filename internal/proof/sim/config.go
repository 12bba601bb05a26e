package sim

import (
	"fmt"
	"slices"
	"strings"
)

// The largest world there can be.
const (
	maxZones     = 3
	maxPods      = 3
	maxSlots     = maxZones * maxPods
	maxOperators = 2
	maxTracks    = 6
	maxAskers    = 2
	maxEvictors  = 2
	maxQueue     = 6
)

// Config bounds a world. Its zones start whole, on revision 1, with nothing
// held, apart from what Templates and Pods say.
type Config struct {
	Zones     int // 1 to 3
	Replicas  int // of each zone, 1 to 3
	Budget    int // maxUnavailable of each zone; at least 1
	Operators int // 1 or 2
	Standby   int // processes besides that only answer evictions; with the operators at most 2
	Handovers int // how often leadership passes from one operator to the other; 0: both lead at all times

	Limit      int  // of a budget of evictions; 0: there is none
	Partitions bool // the budget goes by partitions, which are ordinals
	Queue      bool // an eviction that is refused waits in the queue
	Unbound    bool // nothing binds evictions to pods that serve: they take whichever has the name

	Templates []int   // revision that each zone asks for at the start; 1 where missing
	Pods      [][]int // revision of each zone's pods at the start; 1 where missing
	Bad       []int   // revisions whose pods never become Ready

	Restored Restored // what a Lease from a backup notes at the start

	Tracks [][]Edit // what users do: each track in its order, tracks in any order

	Crashes     int  // how often a Ready pod falls back to starting
	Losses      int  // how often somebody else deletes a Ready pod
	Churn       int  // how often a pod's version moves and nothing else
	Kills       int  // how often an operator loses its memory
	OldCaches   bool // a killed operator may start with the very first caches
	Lost        int  // how often a request is lost, or is carried out and its reply is lost
	Late        int  // how often a sender gives up on a request that is carried out some time later
	Minutes     int  // how often a minute passes, after which every hold has expired
	Maintenance int  // how often somebody takes the free hold by hand
	Vetoes      int  // how often a PodDisruptionBudget refuses an eviction that was granted

	Trickle bool // caches may also jump to some time between what they show and the present

	MaxStates int // gives up beyond that many; 0: never
}

// EditKind is what a user changes.
type EditKind uint8

// The edits that users make.
const (
	Template EditKind = iota // to revision Value
	Scale                    // to Value replicas
	Pause
	Resume
	RollingUpdate // another update strategy: the StatefulSet controller replaces pods itself
	OnDelete
	Shrink // to Value replicas, through admission
	Force  // Value replicas, which lockstep sets by itself
	Evict  // the pod with ordinal Value

	Orphan  // delete the StatefulSet without its pods
	Apply   // make it again, as it was
	Unlabel // take the label of the group off
	Relabel // put it back
)

// Edit is one change of a zone by a user.
type Edit struct {
	Kind  EditKind
	Zone  int
	Value int
}

// String returns the edit as a line of a story.
func (e Edit) String() string {
	zone := zoneNames[e.Zone]
	switch e.Kind {
	case Template:
		return fmt.Sprintf("change %s to revision %d", zone, e.Value)
	case Scale:
		return fmt.Sprintf("scale %s to %d", zone, e.Value)
	case Pause:
		return "pause " + zone
	case Resume:
		return "resume " + zone
	case RollingUpdate:
		return "set " + zone + " to RollingUpdate"
	case OnDelete:
		return "set " + zone + " to OnDelete"
	case Shrink:
		return fmt.Sprintf("ask to shrink %s to %d", zone, e.Value)
	case Force:
		return fmt.Sprintf("force %d replicas of %s", e.Value, zone)
	case Orphan:
		return "delete " + zone + " without its pods"
	case Apply:
		return "apply " + zone + " again"
	case Unlabel:
		return "take the label of the group off " + zone
	case Relabel:
		return "put the label of the group back on " + zone
	case Evict:
		return fmt.Sprintf("want %s to leave", podNames[e.Zone*maxPods+e.Value])
	}
	return fmt.Sprintf("EditKind(%d)", int(e.Kind))
}

// String returns the dimensions in one line: the size of the world, then what
// happens in it.
func (c Config) String() string {
	words := []string{fmt.Sprintf("%d zones x %d pods, budget %d, %d operators", c.Zones, c.Replicas, c.Budget, c.Operators)}
	if c.Standby > 0 {
		words = append(words, fmt.Sprintf("%d standby", c.Standby))
	}
	if c.Handovers > 0 {
		words = append(words, fmt.Sprintf("%d handovers", c.Handovers))
	}
	if c.Limit > 0 {
		words = append(words, fmt.Sprintf("%d to be evicted per %s", c.Limit, map[bool]string{false: "zone", true: "partition"}[c.Partitions]))
	}
	if c.Queue {
		words = append(words, "queue")
	}
	if c.Unbound {
		words = append(words, "unbound")
	}
	if len(c.Bad) > 0 {
		words = append(words, fmt.Sprintf("bad revisions %v", c.Bad))
	}
	for _, n := range []struct {
		often int
		what  string
	}{
		{c.Crashes, "crashes"}, {c.Losses, "losses"}, {c.Churn, "churns"}, {c.Kills, "kills"}, {c.Lost, "lost"},
		{c.Late, "late"}, {c.Minutes, "minutes"}, {c.Maintenance, "maintenance"}, {c.Vetoes, "vetoes"},
	} {
		if n.often > 0 {
			words = append(words, fmt.Sprintf("%d %s", n.often, n.what))
		}
	}
	if c.Restored != NothingRestored {
		words = append(words, c.Restored.String())
	}
	if c.OldCaches {
		words = append(words, "old caches")
	}
	if c.Trickle {
		words = append(words, "trickling")
	}
	for _, track := range c.Tracks {
		words = append(words, fmt.Sprint(track))
	}
	return strings.Join(words, ", ")
}

func (c Config) validate() error {
	switch {
	case c.Zones < 1 || c.Zones > maxZones:
		return fmt.Errorf("explore: %d zones, want 1 to %d", c.Zones, maxZones)
	case c.Replicas < 1 || c.Replicas > maxPods:
		return fmt.Errorf("explore: %d replicas, want 1 to %d", c.Replicas, maxPods)
	case c.Operators < 1 || c.Standby < 0 || c.processes() > maxOperators:
		return fmt.Errorf("explore: %d operators and %d standby, want at least 1 and at most %d together", c.Operators, c.Standby, maxOperators)
	case c.Handovers > 0 && c.Operators < 2:
		return fmt.Errorf("explore: %d handovers without a second operator", c.Handovers)
	case c.Partitions && c.Limit < 1:
		return fmt.Errorf("explore: partitions without a limit")
	case c.Budget < 1:
		return fmt.Errorf("explore: budget %d, want at least 1", c.Budget)
	case len(c.Tracks) > maxTracks:
		return fmt.Errorf("explore: %d tracks, want at most %d", len(c.Tracks), maxTracks)
	}
	for _, track := range c.Tracks {
		for _, e := range track {
			sizes := e.Kind == Scale || e.Kind == Shrink || e.Kind == Force
			if e.Zone < 0 || e.Zone >= c.Zones || (sizes && (e.Value < 0 || e.Value > maxPods)) || (e.Kind == Evict && (e.Value < 0 || e.Value >= maxPods)) {
				return fmt.Errorf("explore: edit %+v is outside of the world", e)
			}
		}
	}
	return nil
}

// leaves reports whether zones leave the group and come back.
func (c Config) leaves() bool {
	return slices.ContainsFunc(c.Tracks, func(track []Edit) bool {
		return slices.ContainsFunc(track, func(e Edit) bool { return e.Kind == Orphan || e.Kind == Unlabel })
	})
}

// processes is how many there are: operators first, then those that stand by.
func (c Config) processes() int { return c.Operators + c.Standby }

// budget returns how many pods of a zone a rollout may take down.
func (c Config) budget() int {
	if c.Limit > 0 && !c.Partitions {
		return min(c.Budget, c.Limit)
	}
	return c.Budget
}

// limit returns how many pods of a zone, or of a partition, evictions may take down.
func (c Config) limit() int {
	if c.Limit > 0 {
		return c.Limit
	}
	return c.Budget
}

func (c Config) bad(revision uint8) bool {
	return slices.Contains(c.Bad, int(revision))
}
