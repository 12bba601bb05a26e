package walk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// mostMoves is the maximum number of events of a schedule. A schedule with more events
// never rests.
const mostMoves = 1_000_000

// patience is the time after the faults in which every group must reach its goal.
const patience = 3 * time.Hour

// walk is a running schedule.
type walk struct {
	server
	agenda
	handover
	ctx       context.Context //nolint:containedctx // ends with the bubble of the schedule
	log       *logrus.Logger
	people    *lease.Store // of users who acquire and release holds manually
	schedule  Schedule
	chance    *rand.Rand // for the durations of operations
	now       instant
	processes []*process
	elected   *process // the process that should lead
	syncing   map[[2]int]bool
	selectors map[string]labels.Selector // of lists, parsed
	uids      int
	waiting   []Step  // for their moments
	network   instant // the network is bad until then
	slowness  instant // controllers and kubelets are slow until then

	compare func(*process, *simulatedGroup, group.Snapshot) // called with every snapshot; can be nil

	telling bool
	lines   []line
	report  Report
	broken  *Story
}

// line is a line of a story, about a group or, with -1, about no group.
type line struct {
	group int
	text  string
}

// Run runs a schedule in a bubble. All goroutines end before it returns.
func Run(t *testing.T, s Schedule) Report {
	t.Helper()
	return live(t, s, false).report
}

// live runs a schedule. If telling is set, it collects the lines of the story.
func live(t *testing.T, s Schedule, telling bool) *walk {
	t.Helper()
	var w *walk
	synctest.Test(t, func(t *testing.T) {
		w = begin(t.Context(), s)
		w.telling = telling
		w.run()
	})
	return w
}

func begin(ctx context.Context, s Schedule) *walk {
	w := &walk{ctx: ctx, schedule: s, chance: rand.New(rand.NewPCG(s.Seed, 2)), syncing: map[[2]int]bool{}, selectors: map[string]labels.Selector{}, log: silent()}
	w.overwriting, w.leaseNames = s.Rules.Overwriting, map[string]*simulatedGroup{}
	w.people = lease.NewStore(client{walk: w}, "", "somebody")
	w.began = time.Now() //nolint:forbidigo // the time of the bubble
	for n, setting := range s.Groups {
		w.found(n, setting)
	}
	var shown [kinds]int
	for k := range kinds {
		shown[k] = len(w.logs[k])
	}
	for n := range s.Processes {
		p := &process{walk: w, no: n, name: "process-" + strconv.Itoa(n), clock: clock{rate: 1, steady: 1}}
		w.processes = append(w.processes, p)
		w.windUp(p)
		p.begin(shown)
	}
	w.elect(nil)
	for _, step := range s.Steps {
		w.agenda.add(step.At, func() { w.begins(step) })
	}
	w.agenda.add(s.Ends, w.mend)
	return w
}

// found creates an available group on its first revision.
func (w *walk) found(no int, s Setting) {
	g := &simulatedGroup{no: no, key: plan.Key{Namespace: s.Namespace, Name: s.Name}, bad: map[string]bool{}, witness: newWitness(s.Zones, s.Ordinals, w.schedule.TrueClocks), wishes: make([]int, s.Zones)}
	g.forced, g.moved = make([]bool, s.Zones), make([]plan.Version, s.Zones)
	if s.Limit > 0 {
		ofGroup := group.Requirement{Key: groupOfPod, Demand: group.LabelIn, Values: []string{s.Name}}
		g.budgets = []group.DisruptionBudget{{Name: "budget-of-" + s.Name, Selector: group.Selector{ofGroup}, Limit: s.Limit}}
	}
	g.pods, g.names = emptyPlaces[*pod](s.Zones, s.Ordinals), emptyPlaces[podName](s.Zones, s.Ordinals)
	w.groups = append(w.groups, g)
	w.leaseNames[s.Namespace+"/"+hold.LeaseName(g.key)] = g
	for n := range s.Zones {
		name := zoneName(s.Name, n)
		z := &zone{template: "r1"}
		z.Name, z.UID, z.Generation, z.Replicas = name, "uid-of-"+name, 1, s.Replicas
		z.UpdateRevision, z.CurrentRevision, z.Observed, z.OnDelete = "r1", "r1", true, true
		z.MaxUnavailable.Pods, z.MinReady, z.MinBetween.Duration = s.Budget, s.MinReady, s.MinBetween
		if s.Follows && n > 0 {
			z.Leader = zoneName(s.Name, 0)
		}
		g.zones = append(g.zones, z)
	}
	for n, z := range g.zones {
		w.server.putZone(g, n, func(*zone) {})
		for ordinal := range s.Replicas {
			w.uids++
			w.server.putPod(g, n, ordinal, pod{owner: z.UID, Pod: plan.Pod{
				Name: plan.PodName(z.Name, ordinal), Ordinal: ordinal, UID: "pod-" + strconv.Itoa(w.uids), Revision: "r1",
				Created: plan.UnixTimeOf(epoch), ReadySince: epoch.Add(-time.Hour), IP: "10.0.0.1", Phase: plan.Ready,
			}})
		}
	}
	g.witness.watch(g, 0, false, w.wall())
}

func (w *walk) run() {
	for len(w.events) > 0 && w.broken == nil {
		if w.report.Moves++; w.report.Moves > mostMoves {
			w.violate(nil, "Rests", "it never does")
			break
		}
		w.happens()
	}
	w.end()
	w.report.Schedules = 1
	if len(w.groups) >= crowd {
		w.report.Crowded = 1
	}
	w.report.Days = w.now.Hours() / 24
	if w.broken != nil {
		w.report.Broken = append(w.report.Broken, w.broken)
	}
}

// happens runs the next event.
func (w *walk) happens() {
	e := w.agenda.next()
	w.now = e.at
	e.happen()
	w.allWait()
}

// end ends everything that goroutines still wait for.
func (w *walk) end() {
	for _, p := range w.processes {
		w.abandon(p.living)
	}
	w.allWait()
}

func (w *walk) after(d time.Duration, do func()) { w.agenda.add(w.now+max(d, 0), do) }

func (w *walk) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(w.chance.Int64N(int64(most-least)))
}

// wall returns the true time as a wall clock time.
func (w *walk) wall() time.Time { return epoch.Add(w.now) }

// lag returns how long a change is on its way to a watch.
func (w *walk) lag() time.Duration {
	if w.chance.IntN(50) == 0 {
		return w.between(0, 2*time.Second)
	}
	return w.between(200*time.Microsecond, 20*time.Millisecond)
}

// slow returns the additional delay of controllers and kubelets now.
func (w *walk) slow() time.Duration {
	if w.slowness <= w.now {
		return 0
	}
	return w.between(0, 30*time.Second)
}

func (w *walk) wrote() { w.report.Tallies[writes]++ }

// violate ends a schedule that breaks a rule.
func (w *walk) violate(g *simulatedGroup, rule, how string) {
	if w.broken != nil {
		return
	}
	w.broken = &Story{Seed: w.schedule.Seed, Rule: rule, How: how, Group: -1, At: clockTime(w.now), Steps: w.schedule.Steps}
	if g != nil {
		w.broken.Group = g.no
	}
	for _, l := range w.lines {
		if l.group < 0 || g == nil || l.group == g.no {
			w.broken.Lines = append(w.broken.Lines, l.text)
		}
	}
}

// story adds a line about a group.
func (w *walk) story(g *simulatedGroup, words ...any) {
	if w.telling {
		w.lines = append(w.lines, line{g.no, clockTime(w.now) + " " + strings.TrimSpace(fmt.Sprintln(words...))})
	}
}

// tell adds a line that is not about one group.
func (w *walk) tell(words ...any) {
	if w.telling {
		w.lines = append(w.lines, line{-1, clockTime(w.now) + " " + strings.TrimSpace(fmt.Sprintln(words...))})
	}
}

// spelled formats the record in a Lease for a story.
type spelled group.Hold

// String implements fmt.Stringer.
func (h *spelled) String() string {
	holder := string(h.Holder)
	if h.Holder.Free() {
		holder = "free"
	}
	var noted []string
	for _, i := range h.Intents {
		noted = append(noted, i.Pod)
	}
	if !h.Downscale.None() {
		noted = append(noted, h.Downscale.String())
	}
	for _, waits := range h.Waiting {
		noted = append(noted, fmt.Sprintf("(%s %s waits)", waits.Operation, waits.Zone))
	}
	return "hold " + holder + " " + fmt.Sprint(noted)
}
