package sim

import (
	"fmt"
	"slices"
	"strings"
)

// The size of the largest world.
const (
	maxZones            = 3
	maxPods             = 3
	maxSlots            = maxZones * maxPods
	maxOperators        = 2
	maxTracks           = 6
	maxDownscaleClients = 2
	maxEvictionClients  = 2
	maxQueue            = 6
)

// Config bounds a world. At the start its zones are available and on revision 1, and the
// hold is free, except as Templates and Pods specify.
type Config struct {
	Zones     int // 1 to 3
	Replicas  int // of each zone, 1 to 3
	Budget    int // maxUnavailable of each zone; at least 1
	Operators int // 1 or 2
	Standby   int // processes that only answer evictions; at most 2 processes in total
	Handovers int // how often leadership passes to the other operator; 0: both always lead

	Limit      int  // of a budget of evictions; 0: there is none
	Partitions bool // the budget counts partitions, which are ordinals
	Queue      bool // a refused eviction waits in the queue
	Unbound    bool // evictions have no UID as a precondition: they delete any pod with the name

	Templates []int   // update revision of each zone at the start; the default is 1
	Pods      [][]int // revision of each zone's pods at the start; the default is 1
	Bad       []int   // revisions whose pods never become Ready

	Restored Restored // what a Lease from a backup records at the start

	Tracks [][]Edit // edits by users; the edits of a track keep their order

	Crashes      int  // how often a Ready pod crashes
	PodDeletes   int  // how often another client deletes a Ready pod
	PodUpdates   int  // how often another client changes only the version of a pod
	Kills        int  // how often a process dies and restarts without its memory
	OldCaches    bool // a restarted process can have the caches of the start
	LostRequests int  // how often a request, or only its reply, is lost
	LateRequests int  // how often a request is carried out after its sender gave up
	Expiries     int  // how often a minute passes; then every hold expires
	ManualHolds  int  // how often a user acquires a free hold manually
	Vetoes       int  // how often a PodDisruptionBudget refuses a granted eviction

	StepwiseCaches bool // caches can also advance to a state between the one that they show and the present one

	MaxStates int // Explore stops if there are more; 0: no limit
}

// EditKind is a kind of change by a user.
type EditKind uint8

// Edits by users.
const (
	Template EditKind = iota // to revision Value
	Scale                    // to Value replicas
	Pause
	Resume
	RollingUpdate // changes the update strategy: the StatefulSet controller replaces pods itself
	OnDelete
	Downscale     // to Value replicas, through admission
	ForceReplicas // to Value replicas, which lockstep sets
	Evict         // the pod with ordinal Value

	Orphan   // deletes the StatefulSet without its pods
	Recreate // creates it again, unchanged
	Unlabel  // removes the label of the group
	Relabel  // adds the label again
)

// Edit is one change of a zone by a user.
type Edit struct {
	Kind  EditKind
	Zone  int
	Value int
}

// String returns the edit as a line of a trace.
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
	case Downscale:
		return fmt.Sprintf("request a downscale of %s to %d", zone, e.Value)
	case ForceReplicas:
		return fmt.Sprintf("force %d replicas of %s", e.Value, zone)
	case Orphan:
		return "delete " + zone + " without its pods"
	case Recreate:
		return "apply " + zone + " again"
	case Unlabel:
		return "remove the label of the group from " + zone
	case Relabel:
		return "add the label of the group to " + zone + " again"
	case Evict:
		return fmt.Sprintf("evict %s", podNames[e.Zone*maxPods+e.Value])
	}
	return fmt.Sprintf("EditKind(%d)", int(e.Kind))
}

// String returns the configuration in one line: the size of the world, then the events in
// it.
func (c Config) String() string {
	words := []string{fmt.Sprintf("%d zones x %d pods, budget %d, %d operators", c.Zones, c.Replicas, c.Budget, c.Operators)}
	if c.Standby > 0 {
		words = append(words, fmt.Sprintf("%d standby", c.Standby))
	}
	if c.Handovers > 0 {
		words = append(words, fmt.Sprintf("%d handovers", c.Handovers))
	}
	if c.Limit > 0 {
		words = append(words, fmt.Sprintf("%d evictions per %s", c.Limit, map[bool]string{false: "zone", true: "partition"}[c.Partitions]))
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
		{c.Crashes, "crashes"}, {c.PodDeletes, "pod deletes"}, {c.PodUpdates, "pod updates"}, {c.Kills, "kills"}, {c.LostRequests, "lost requests"},
		{c.LateRequests, "late requests"}, {c.Expiries, "expiries"}, {c.ManualHolds, "manual holds"}, {c.Vetoes, "refusals by a PodDisruptionBudget"},
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
	if c.StepwiseCaches {
		words = append(words, "stepwise caches")
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
		return fmt.Errorf("explore: %d operators and %d standby, want at least 1 and at most %d in total", c.Operators, c.Standby, maxOperators)
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
			setsSize := e.Kind == Scale || e.Kind == Downscale || e.Kind == ForceReplicas
			if e.Zone < 0 || e.Zone >= c.Zones || (setsSize && (e.Value < 0 || e.Value > maxPods)) || (e.Kind == Evict && (e.Value < 0 || e.Value >= maxPods)) {
				return fmt.Errorf("explore: edit %+v is outside of the world", e)
			}
		}
	}
	return nil
}

// hasAbsences reports whether zones leave the group and return.
func (c Config) hasAbsences() bool {
	return slices.ContainsFunc(c.Tracks, func(track []Edit) bool {
		return slices.ContainsFunc(track, func(e Edit) bool { return e.Kind == Orphan || e.Kind == Unlabel })
	})
}

// processes returns the number of processes: operators first, then those on standby.
func (c Config) processes() int { return c.Operators + c.Standby }

// budget returns how many pods of a zone a rollout may disrupt.
func (c Config) budget() int {
	if c.Limit > 0 && !c.Partitions {
		return min(c.Budget, c.Limit)
	}
	return c.Budget
}

// limit returns how many pods of a zone, or of a partition, evictions may disrupt.
func (c Config) limit() int {
	if c.Limit > 0 {
		return c.Limit
	}
	return c.Budget
}

func (c Config) bad(revision uint8) bool {
	return slices.Contains(c.Bad, int(revision))
}
