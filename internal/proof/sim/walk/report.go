package walk

import (
	"fmt"
	"strings"
)

// Report is the result of schedules.
type Report struct {
	Schedules int
	Crowded   int // schedules with many groups
	Moves     int // events
	Plans     int // reconciles by leaders
	Refusals  int // of downscales and evictions
	Wishes    [firstFault]int
	Faults    [faults]int
	Tallies   [tallies]int
	Goals     int // groups that reached their goal after the faults
	Missed    int // groups that did not
	Days      float64
	Broken    []*Story
}

// fault is a kind of fault.
type fault int

// Faults.
const (
	podsCrash fault = iota
	podsLost
	podsTouched
	processesDie
	startsWithOldCaches
	processesSleep
	leadershipMoves
	watchesStuck
	statesUnobserved
	requestsLost
	repliesLost
	requestsLate
	yesInVain
	yesLate
	controllersSlow
	clocksJump
	strangersCreated
	strangersAdopted
	strangersEvicted
	faults
)

var faultNames = [faults]string{
	podsCrash:           "a pod crashes",
	podsLost:            "somebody else deletes a pod",
	podsTouched:         "somebody else touches a pod",
	processesDie:        "a process dies",
	startsWithOldCaches: "... and starts with caches of some time ago, or the very first ones",
	processesSleep:      "a process sleeps",
	leadershipMoves:     "leadership moves, and its former holder hears of it later",
	watchesStuck:        "a watch shows nothing for a while",
	statesUnobserved:    "a cache skips states, which no process sees",
	requestsLost:        "a request never arrives",
	repliesLost:         "a reply is lost",
	requestsLate:        "a request arrives after its sender has given it up",
	yesInVain:           "what a webhook allowed never happens",
	yesLate:             "what a webhook allowed happens late",
	controllersSlow:     "controllers and kubelets are slow",
	clocksJump:          "a wall clock jumps",
	strangersCreated:    "a user creates a pod under the name of a pod of a zone",
	strangersAdopted:    "... and the StatefulSet adopts it",
	strangersEvicted:    "... or a client evicts it",
}

// tally is a kind of action that is counted.
type tally int

// Actions.
const (
	rolled tally = iota
	repairs
	evictions
	downscales
	seen
	raises
	adoptions
	voids
	stamps
	lapses
	places
	touches
	writes
	tallies
)

var tallyNames = [tallies]string{
	rolled: "pods that were up deleted by a rollout", repairs: "pods that were down replaced", evictions: "pods evicted",
	downscales: "downscales", seen: "downscales recorded of which no webhook was called", raises: "zones raised by lockstep",
	adoptions: "revisions adopted", voids: "downscales made impossible", stamps: "times of downscales stamped",
	lapses: "granted evictions taken off the hold that never came", places: "places in the queue taken by lockstep",
	touches: "pods touched, so that a delete cannot happen", writes: "writes of lockstep and of its webhooks",
}

// Add adds the results of other schedules.
func (r *Report) Add(other Report) {
	r.Schedules += other.Schedules
	r.Crowded += other.Crowded
	r.Moves += other.Moves
	r.Plans += other.Plans
	r.Refusals += other.Refusals
	r.Goals += other.Goals
	r.Missed += other.Missed
	r.Days += other.Days
	r.Broken = append(r.Broken, other.Broken...)
	add(r.Wishes[:], other.Wishes[:])
	add(r.Faults[:], other.Faults[:])
	add(r.Tallies[:], other.Tallies[:])
}

// Missing returns the kinds of user actions, faults and actions that never happened. A
// report without them proves less than it seems to.
func (r *Report) Missing() []string {
	var all []string
	for k, n := range r.Wishes {
		if n == 0 {
			all = append(all, kindNames[k])
		}
	}
	for f, n := range r.Faults {
		if n == 0 {
			all = append(all, faultNames[f])
		}
	}
	for d, n := range r.Tallies {
		if n == 0 {
			all = append(all, tallyNames[d])
		}
	}
	return all
}

func add(sums, others []int) {
	for n, other := range others {
		sums[n] += other
	}
}

// String returns the report as a table.
func (r *Report) String() string {
	var b strings.Builder
	row := func(name string, n any) { fmt.Fprintf(&b, "%-72s %12v\n", name, n) }
	row("schedules", r.Schedules)
	row("... of these with twenty to forty groups", r.Crowded)
	row("days of invented time", int(r.Days))
	row("moves", r.Moves)
	row("plans", r.Plans)
	row("refusals", r.Refusals)
	for d, n := range r.Tallies {
		row(tallyNames[d], n)
	}
	b.WriteString("\nwhat users do\n")
	for k, n := range r.Wishes {
		row(kindNames[k], n)
	}
	b.WriteString("\nwhat goes wrong\n")
	for f, n := range r.Faults {
		row(faultNames[f], n)
	}
	b.WriteString("\n")
	row("goals reached after the faults", r.Goals)
	row("goals missed", r.Missed)
	row("violations", len(r.Broken))
	return b.String()
}

// Story is a schedule that breaks a rule.
type Story struct {
	Seed  uint64
	Rule  string
	How   string
	Group int
	At    string
	Steps []Step
	Lines []string
}

// String returns the story as text.
func (s *Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n  LOCKSTEP_SEED=%d, group %d, %s\n", s.Rule, s.How, s.Seed, s.Group, s.At)
	for _, step := range s.Steps {
		fmt.Fprintf(&b, "  %v\n", step)
	}
	for _, line := range s.Lines {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	return b.String()
}
