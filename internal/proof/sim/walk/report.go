package walk

import (
	"fmt"
	"strings"
)

// Report is the result of schedules.
type Report struct {
	Schedules   int
	Crowded     int // schedules with many groups
	Events      int // that the event loop has run
	Plans       int // reconciles by leaders
	Refusals    int // of downscales and evictions
	UserActions [firstFault]int
	Faults      [faultKinds]int
	Actions     [actions]int
	Goals       int // groups that reached their goal after the faults
	GoalsMissed int // groups that did not
	Days        float64
	Violations  []*Counterexample
}

// fault is a kind of fault.
type fault int

// Faults.
const (
	podsCrash fault = iota
	podsDeletedByOthers
	podsUpdatedByOthers
	processesDie
	startsWithOldCaches
	processesSleep
	leadershipMoves
	watchesStuck
	statesUnobserved
	requestsLost
	repliesLost
	requestsLate
	allowedNotCarriedOut
	allowedCarriedOutLate
	controllersSlow
	clocksJump
	barePodsCreated
	barePodsAdopted
	barePodsEvicted
	podsMislabelled
	groupsForgotten
	faultKinds
)

var faultNames = [faultKinds]string{
	podsCrash:             "a pod crashes",
	podsDeletedByOthers:   "another client deletes a pod",
	podsUpdatedByOthers:   "another client updates a pod",
	processesDie:          "a process dies",
	startsWithOldCaches:   "... and restarts with the caches of an earlier time",
	processesSleep:        "a process sleeps",
	leadershipMoves:       "leadership moves, and the former leader stops later",
	watchesStuck:          "a watch shows no changes for a while",
	statesUnobserved:      "a cache skips states",
	requestsLost:          "a request never arrives",
	repliesLost:           "a reply is lost",
	requestsLate:          "a request arrives after its sender gave up",
	allowedNotCarriedOut:  "an allowed request is never carried out",
	allowedCarriedOutLate: "an allowed request is carried out late",
	controllersSlow:       "controllers and kubelets are slow",
	clocksJump:            "a wall clock jumps",
	barePodsCreated:       "a user creates a pod under the name of a pod of a zone",
	barePodsAdopted:       "... and the StatefulSet adopts it",
	barePodsEvicted:       "... or a client evicts it",
	podsMislabelled:       "a pod gets the labels of another zone for a while",
	groupsForgotten:       "a process forgets a group that it no longer sees",
}

// action is a kind of action of lockstep or of a client that the report counts.
type action int

// Actions.
const (
	upPodsReplaced action = iota
	downPodsReplaced
	podsEvicted
	downscales
	unadmittedDownscales
	upscales
	revisionsAdopted
	downscalesCancelled
	downscalesStamped
	intentsEnded
	queuePlaces
	podsUpdated
	writes
	actions
)

var actionNames = [actions]string{
	upPodsReplaced: "pods that were up deleted by a rollout", downPodsReplaced: "pods that were down replaced", podsEvicted: "pods evicted",
	downscales: "downscales", unadmittedDownscales: "unadmitted downscales recorded", upscales: "zones scaled up",
	revisionsAdopted: "revisions adopted", downscalesCancelled: "downscales cancelled", downscalesStamped: "times of downscales written",
	intentsEnded: "intents ended", queuePlaces: "operations queued by lockstep",
	podsUpdated: "pods updated, so that a pending delete fails", writes: "writes that lockstep or a webhook decided",
}

// Add adds the results of other schedules.
func (r *Report) Add(other Report) {
	r.Schedules += other.Schedules
	r.Crowded += other.Crowded
	r.Events += other.Events
	r.Plans += other.Plans
	r.Refusals += other.Refusals
	r.Goals += other.Goals
	r.GoalsMissed += other.GoalsMissed
	r.Days += other.Days
	r.Violations = append(r.Violations, other.Violations...)
	add(r.UserActions[:], other.UserActions[:])
	add(r.Faults[:], other.Faults[:])
	add(r.Actions[:], other.Actions[:])
}

// Missing returns the kinds of user actions, faults and actions that never happened. A report without
// them proves too little.
func (r *Report) Missing() []string {
	var all []string
	for k, n := range r.UserActions {
		if n == 0 {
			all = append(all, kindNames[k])
		}
	}
	for f, n := range r.Faults {
		if n == 0 {
			all = append(all, faultNames[f])
		}
	}
	for d, n := range r.Actions {
		if n == 0 {
			all = append(all, actionNames[d])
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
	row("days of simulated time", int(r.Days))
	row("events", r.Events)
	row("plans", r.Plans)
	row("refusals", r.Refusals)
	for d, n := range r.Actions {
		row(actionNames[d], n)
	}
	b.WriteString("\nuser actions\n")
	for k, n := range r.UserActions {
		row(kindNames[k], n)
	}
	b.WriteString("\nfaults\n")
	for f, n := range r.Faults {
		row(faultNames[f], n)
	}
	b.WriteString("\n")
	row("goals reached after the faults", r.Goals)
	row("goals missed", r.GoalsMissed)
	row("violations", len(r.Violations))
	return b.String()
}

// Counterexample is a schedule that breaks a rule, with the trace of the group that the rule is about.
type Counterexample struct {
	Seed   uint64
	Rule   string
	Detail string
	Group  int
	At     string
	Steps  []Step
	Trace  []string
}

// String returns the counterexample as text.
func (s *Counterexample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n  LOCKSTEP_SEED=%d, group %d, %s\n", s.Rule, s.Detail, s.Seed, s.Group, s.At)
	for _, step := range s.Steps {
		fmt.Fprintf(&b, "  %v\n", step)
	}
	for _, line := range s.Trace {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	return b.String()
}
