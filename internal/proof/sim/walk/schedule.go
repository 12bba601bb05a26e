package walk

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Schedule is the initial state of a walk, with its user actions and faults.
type Schedule struct {
	Seed       uint64
	Processes  int
	TrueClocks bool // of all processes; otherwise each process has clocks of its own
	Groups     []GroupConfig
	Steps      []Step
	FaultsEnd  time.Duration // when faults end
	Deviations Deviations
}

// GroupConfig is the initial state of a group.
type GroupConfig struct {
	Namespace  string
	Name       string
	Zones      int
	Replicas   int
	Ordinals   int           // of each zone: the maximum number of pods
	Budget     int           // maxUnavailable
	Limit      int           // of a budget of evictions; 0: there is none
	MinReady   time.Duration // minReadySeconds
	MinBetween time.Duration // the minimum time between downscales of two zones
	Follows    bool          // the first zone is the leader of all other zones
}

// Step is a user action or a fault. It happens at a time or, with a trigger, at the first trigger of
// that kind after this time. Then it affects the group or the process of the trigger.
type Step struct {
	At       time.Duration
	Trigger  trigger
	Kind     Kind
	Group    int // or the process, for a fault of a process
	Zone     int
	Value    int
	Duration time.Duration
}

// Kind is the kind of a Step.
type Kind int

// User actions, then faults.
const (
	Template Kind = iota
	BadTemplate
	Pause
	UnseenPause    // a pause of the zone of the holder; meanwhile no watch shows StatefulSets
	Resize         // without admission
	Downscale      // through admission
	ForceReplicas  // to Value replicas, or no longer
	Evict          // the pod with ordinal Value
	ManualHold     // a user acquires the hold
	Orphan         // the StatefulSet is deleted without its pods, and applied again
	Unlabel        // the label of the group is removed, and added again
	BarePod        // a user creates a pod with the name of a pod of the zone, and deletes it later
	AdoptedBarePod // a user creates such a pod and labels it later, so that the StatefulSet adopts it
	Mislabel       // a user gives a pod the labels of another zone, and later its own again
	OptOut         // the namespace opts out, and in again
	Crash
	DeletePod
	UpdatePod
	Kill
	Sleep
	ChangeLeader
	StuckWatch // a watch shows no changes
	BadNetwork
	SlowControllers // and kubelets
	ClockJump
)

// firstFault is the first Kind that is not a user action.
const firstFault = Crash

var kindNames = [...]string{
	Template: "new template", BadTemplate: "template whose pods never become Ready", Pause: "pause", UnseenPause: "pause that processes see late", Resize: "resize without admission",
	Downscale: "downscale", ForceReplicas: "forced replicas", Evict: "eviction", ManualHold: "hold acquired manually",
	Orphan: "StatefulSet deleted without its pods", Unlabel: "label of the group removed", Crash: "crash of a pod",
	Mislabel: "pod with the labels of another zone", OptOut: "opt-out of the namespace",
	BarePod: "pod created by a user with the name of a pod", AdoptedBarePod: "pod created by a user for the StatefulSet to adopt",
	DeletePod: "pod deleted by another client", UpdatePod: "pod updated by another client", Kill: "death of a process", Sleep: "sleep of a process",
	ChangeLeader: "leader change", StuckWatch: "stuck watch", BadNetwork: "bad network", SlowControllers: "slow controllers and kubelets", ClockJump: "clock jump",
}

// String returns the step as a line.
func (s Step) String() string { return clockTime(s.At) + " " + s.describe() }

// describe describes the step without its time.
func (s Step) describe() string {
	text := kindNames[s.Kind] + triggerNames[s.Trigger]
	switch s.Kind {
	case Template, BadTemplate, Pause, UnseenPause, Resize, Downscale, ForceReplicas, Evict, Orphan, Unlabel, BarePod, AdoptedBarePod, Mislabel, Crash, DeletePod, UpdatePod:
		text += fmt.Sprintf(" of group %d zone %d (%d)", s.Group, s.Zone, s.Value)
	case ManualHold, OptOut:
		text += fmt.Sprintf(" of group %d", s.Group)
	case Kill, Sleep, ChangeLeader, StuckWatch, ClockJump:
		text += fmt.Sprintf(" of process %d (%d)", s.Group, s.Value)
	case BadNetwork, SlowControllers:
	}
	if s.Duration > 0 {
		text += " for " + s.Duration.Round(time.Second).String()
	}
	return text
}

// clockTime formats a time since the beginning of the schedule.
func clockTime(at time.Duration) string {
	return fmt.Sprintf("%dd %s", at/(24*time.Hour), epoch.Add(at).Add(-12*time.Hour).Format("15:04:05.000"))
}

// One in crowdedOneIn schedules has many groups: crowdedGroups to twice as many.
const (
	crowdedOneIn  = 100
	crowdedGroups = 20
)

// One in wideOneIn schedules has a group whose zones need several steps, because a plan deletes at most ten
// pods.
const wideOneIn = 20

// One in unseenPausesOneIn schedules has pauses that processes see late.
const unseenPausesOneIn = 4

// Draw returns the schedule of a seed.
func Draw(seed uint64) Schedule {
	d, absences, barePods, unseenPauses := drawingOf(seed, 1), drawingOf(seed, 3), drawingOf(seed, 4), drawingOf(seed, 5)
	s := Schedule{Seed: seed, Processes: 2 + d.IntN(2), TrueClocks: d.IntN(3) == 0}
	groups := 2 + d.IntN(4)
	if seed%crowdedOneIn == 0 {
		groups = crowdedGroups + d.IntN(crowdedGroups+1)
	}
	for n := range groups {
		s.Groups = append(s.Groups, d.groupConfig(n))
	}
	if seed%wideOneIn == 1 {
		drawingOf(seed, 6).useWideZones(&s.Groups[0])
	}
	withBarePods := barePods.IntN(3) == 0
	mislabelled, forgotten := drawingOf(seed, 7), drawingOf(seed, 8)
	withMislabelled, withForgotten := mislabelled.IntN(3) == 0, forgotten.IntN(3) == 0
	at := time.Duration(0)
	for range 2 + d.IntN(3) {
		at += time.Hour + d.between(0, 20*time.Hour)
		s.Steps = append(s.Steps, d.burst(&s, at)...)
		s.Steps = append(s.Steps, absences.absences(&s, at)...)
		if withBarePods {
			s.Steps = append(s.Steps, barePods.barePods(&s, at)...)
		}
		if withMislabelled {
			s.Steps = append(s.Steps, mislabelled.mislabelledPods(&s, at)...)
		}
		if withForgotten {
			s.Steps = append(s.Steps, forgotten.forgottenGroups(&s, at)...)
		}
		if seed%unseenPausesOneIn == 1 {
			s.Steps = append(s.Steps, unseenPauses.unseenPauses(&s, at)...)
		}
	}
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	s.FaultsEnd = at + longestBurst
	return s
}

// longestBurst is the time after the beginning of the last burst at which faults end.
const longestBurst = 40 * time.Minute

type drawing struct{ *rand.Rand }

// drawingOf returns one of the random sources of a seed. Each kind of events has a source of its own, so
// that a new kind does not change the events of the others.
func drawingOf(seed, source uint64) drawing { return drawing{rand.New(rand.NewPCG(seed, source))} }

// trigger returns one of the triggers that every schedule has.
func (d drawing) trigger() trigger { return 1 + trigger(d.IntN(int(barePodReplaced)-1)) }

func (d drawing) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(most-least)+1))
}

func (d drawing) groupConfig(n int) GroupConfig {
	s := GroupConfig{
		Namespace: fmt.Sprintf("team-%d", d.IntN(3)), Name: fmt.Sprintf("store-%d", n),
		Zones: 2 + d.IntN(2), Replicas: 1 + d.IntN(4), Ordinals: maxOrdinals, Budget: 1 + d.IntN(3), Follows: d.IntN(4) == 0,
	}
	if d.IntN(4) == 0 {
		s.Limit = 1 + d.IntN(2)
	}
	if d.IntN(3) == 0 {
		s.MinReady = d.between(time.Second, 20*time.Second).Truncate(time.Second)
	}
	if d.IntN(3) == 0 {
		s.MinBetween = d.between(time.Second, 5*time.Minute).Truncate(time.Second)
	}
	return s
}

// useWideZones gives the zones of a group more pods than a plan deletes.
func (d drawing) useWideZones(s *GroupConfig) {
	s.Ordinals, s.Replicas, s.Budget = maxWideOrdinals, 11+d.IntN(4), 8+d.IntN(8)
}

// burst returns the steps of some minutes: a few user actions, and faults at about the same time.
func (d drawing) burst(s *Schedule, at time.Duration) []Step {
	var steps []Step
	wide := d.between(10*time.Second, 10*time.Minute)
	for g := range s.Groups {
		for range d.IntN(4) {
			steps = append(steps, d.userAction(s, g, at+d.between(0, wide))...)
		}
	}
	for range (2 + d.IntN(8)) * (1 + len(s.Groups)/6) {
		steps = append(steps, d.fault(s, at+d.between(0, wide)))
	}
	return steps
}

// absences makes zones of some groups leave for a time.
func (d drawing) absences(s *Schedule, at time.Duration) []Step {
	var steps []Step
	for g := range s.Groups {
		for range d.IntN(3) {
			step := Step{At: at + d.between(0, 10*time.Minute), Kind: [...]Kind{Orphan, Unlabel}[d.IntN(2)], Group: g, Zone: d.IntN(s.Groups[g].Zones)}
			step.Duration = d.between(0, [...]time.Duration{20 * time.Millisecond, 10 * time.Second, 10 * time.Minute}[d.IntN(3)])
			if d.IntN(2) == 0 {
				step.Trigger = d.trigger()
			}
			steps = append(steps, step)
		}
	}
	return steps
}

// unseenPauses pauses zones just when a pod of them is deleted or evicted.
func (d drawing) unseenPauses(s *Schedule, at time.Duration) []Step {
	var steps []Step
	for range s.Groups {
		steps = append(steps, Step{
			At: at + d.between(0, 10*time.Minute), Kind: UnseenPause, Trigger: podDeleted, Duration: d.between(5*time.Second, 2*time.Minute),
		})
	}
	return steps
}

// barePods makes users create pods with the names of pods of some zones. Some processes see late that
// such a pod was deleted or adopted. Meanwhile pods of the group crash, and users resize zones.
func (d drawing) barePods(s *Schedule, at time.Duration) []Step {
	var steps []Step
	for g := range s.Groups {
		for range d.IntN(3) {
			step := Step{At: at + d.between(0, 10*time.Minute), Kind: [...]Kind{BarePod, AdoptedBarePod}[d.IntN(2)], Group: g, Zone: d.IntN(s.Groups[g].Zones), Value: d.IntN(maxOrdinals)}
			step.Duration = d.between(0, [...]time.Duration{time.Second, time.Minute, 10 * time.Minute}[d.IntN(3)])
			late := Step{At: step.At, Trigger: barePodReplaced, Kind: StuckWatch, Group: d.IntN(s.Processes), Value: int(podKind), Duration: d.between(time.Second, 5*time.Minute)}
			crash := Step{At: step.At, Trigger: barePodReplaced, Kind: Crash, Group: g, Zone: d.IntN(s.Groups[g].Zones), Value: d.IntN(maxOrdinals)}
			resize := Step{At: step.At + d.between(0, step.Duration+time.Minute), Kind: Resize, Group: g, Zone: step.Zone, Value: d.IntN(5)}
			if d.IntN(2) == 0 {
				step.Trigger = d.trigger()
			}
			steps = append(steps, step, late)
			if d.IntN(2) == 0 {
				steps = append(steps, crash)
			}
			if d.IntN(4) == 0 {
				steps = append(steps, resize)
			}
		}
	}
	return steps
}

// mislabelledPods gives pods of some zones the labels of another zone. Some processes see it late. Meanwhile pods of the
// group crash.
func (d drawing) mislabelledPods(s *Schedule, at time.Duration) []Step {
	var steps []Step
	for g := range s.Groups {
		for range d.IntN(3) {
			step := Step{At: at + d.between(0, 10*time.Minute), Kind: Mislabel, Group: g, Zone: d.IntN(s.Groups[g].Zones), Value: d.IntN(s.Groups[g].Replicas)}
			step.Duration = d.between(0, [...]time.Duration{time.Second, time.Minute, 10 * time.Minute}[d.IntN(3)])
			if d.IntN(2) == 0 {
				step.Trigger = d.trigger()
			}
			steps = append(steps, step)
			if d.IntN(2) == 0 {
				steps = append(steps, Step{At: step.At, Kind: StuckWatch, Group: d.IntN(s.Processes), Value: int(podKind), Duration: d.between(time.Second, 5*time.Minute)})
			}
			if d.IntN(3) == 0 {
				steps = append(steps, Step{At: step.At, Trigger: barePodReplaced, Kind: Crash, Group: g, Zone: d.IntN(s.Groups[g].Zones), Value: d.IntN(maxOrdinals)})
			}
		}
	}
	return steps
}

// forgottenGroups makes processes forget groups for a moment: all zones lose their label, or the namespace opts out.
// Meanwhile clients evict pods, and some processes see pods late.
func (d drawing) forgottenGroups(s *Schedule, at time.Duration) []Step {
	var steps []Step
	for g := range s.Groups {
		if d.IntN(2) == 0 {
			continue
		}
		begin, duration := at+d.between(0, 10*time.Minute), d.between(0, [...]time.Duration{100 * time.Millisecond, 10 * time.Second, time.Minute}[d.IntN(3)])
		if d.IntN(3) > 0 {
			steps = append(steps, Step{At: begin, Kind: OptOut, Group: g, Duration: duration})
			steps = append(steps, d.evictionsAround(s, g, begin, duration)...)
		} else {
			for zone := range s.Groups[g].Zones {
				steps = append(steps, Step{At: begin, Kind: Unlabel, Group: g, Zone: zone, Duration: duration + d.between(0, 100*time.Millisecond)})
			}
		}
		for range d.IntN(3) {
			steps = append(steps, Step{At: begin - d.between(0, 10*time.Second), Kind: StuckWatch, Group: d.IntN(s.Processes), Value: int(podKind), Duration: d.between(time.Second, 2*time.Minute)})
		}
		for range d.IntN(4) {
			steps = append(steps, Step{At: begin + d.between(-20*time.Second, duration+20*time.Second), Kind: Evict, Group: g, Zone: d.IntN(s.Groups[g].Zones), Value: d.IntN(s.Groups[g].Replicas)})
		}
	}
	return steps
}

// evictionsAround makes clients evict pods of a zone before and after a moment, while no watch shows pods: neither that
// another pod of the zone crashed, nor the first eviction.
func (d drawing) evictionsAround(s *Schedule, g int, begin, duration time.Duration) []Step {
	zone, pods, end := d.IntN(s.Groups[g].Zones), d.Perm(s.Groups[g].Replicas), begin+duration
	steps := []Step{{At: begin - d.between(2*time.Second, 5*time.Second), Kind: Crash, Group: g, Zone: zone, Value: pods[0]}}
	for p := range s.Processes {
		steps = append(steps, Step{At: begin - 6*time.Second, Kind: StuckWatch, Group: p, Value: int(podKind), Duration: duration + d.between(6*time.Second, 30*time.Second)})
	}
	if len(pods) > 2 {
		steps = append(steps,
			Step{At: begin - d.between(0, 2*time.Second), Kind: Evict, Group: g, Zone: zone, Value: pods[1]},
			Step{At: end + d.between(0, 2*time.Second), Kind: Evict, Group: g, Zone: zone, Value: pods[2]})
	}
	return steps
}

// userAction returns a random user action; a change of the template can be one step for each zone.
func (d drawing) userAction(s *Schedule, g int, at time.Duration) []Step {
	zone := d.IntN(s.Groups[g].Zones)
	step := Step{At: at, Group: g, Zone: zone, Value: d.IntN(5)}
	switch d.IntN(10) {
	case 0, 1, 2:
		return d.templates(s, step, Template)
	case 3:
		step.Duration = d.between(10*time.Second, 10*time.Minute)
		return d.templates(s, step, BadTemplate)
	case 4:
		step.Kind, step.Duration = Pause, d.between(time.Second, 10*time.Minute)
	case 5:
		step.Kind = Downscale
	case 6:
		step.Kind = [...]Kind{Resize, ForceReplicas}[d.IntN(2)]
	case 7, 8:
		step.Kind = Evict
	case 9:
		step.Kind, step.Duration = ManualHold, d.between(time.Second, 10*time.Minute)
	}
	return []Step{step}
}

// templates changes one zone, or all zones of a group at about the same time.
func (d drawing) templates(s *Schedule, step Step, kind Kind) []Step {
	step.Kind, step.Value = kind, 2+d.IntN(1000)
	if d.IntN(4) == 0 {
		return []Step{step}
	}
	var steps []Step
	for zone := range s.Groups[step.Group].Zones {
		step.Zone = zone
		step.At += d.between(0, time.Second)
		steps = append(steps, step)
	}
	return steps
}

func (d drawing) fault(s *Schedule, at time.Duration) Step {
	step := Step{At: at, Kind: firstFault + Kind(d.IntN(int(ClockJump-firstFault)+1)), Duration: d.between(time.Second, 30*time.Second)}
	if d.IntN(4) == 0 {
		step.Duration = d.between(time.Second, 10*time.Minute)
	}
	switch step.Kind {
	case Crash, DeletePod, UpdatePod:
		step.Group = d.IntN(len(s.Groups))
		step.Zone, step.Value, step.Duration = d.IntN(s.Groups[step.Group].Zones), d.IntN(maxOrdinals), 0
	default:
		step.Group, step.Value = d.IntN(s.Processes), d.IntN(1000)
	}
	if d.IntN(3) > 0 {
		step.Trigger = d.trigger()
	}
	return step
}
