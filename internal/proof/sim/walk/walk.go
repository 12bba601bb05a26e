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

// maxEvents is the maximum number of events of a schedule. A schedule with more events
// never ends.
const maxEvents = 1_000_000

// goalTimeout is the time after the end of faults in which every group must reach its goal.
const goalTimeout = 3 * time.Hour

// walk is a running schedule.
type walk struct {
	server
	agenda
	taskRunner
	ctx             context.Context //nolint:containedctx // ends with the bubble of the schedule
	log             *logrus.Logger
	userLeases      *lease.Store // of users who acquire and release holds manually
	schedule        Schedule
	chance          *rand.Rand // for the durations of operations
	now             instant
	processes       []*process
	elected         *process // the leader
	zonesQueued     map[[2]int]bool
	optedOut        map[string]bool            // namespaces
	selectors       map[string]labels.Selector // the parsed selectors of lists
	uids            int
	waitingSteps    []Step  // that wait for their triggers
	badNetworkUntil instant // the network is bad until then
	slowUntil       instant // controllers and kubelets are slow until then

	compare func(*process, *simulatedGroup, group.Snapshot) // called with every snapshot; can be nil
	rounds  func(*round, time.Duration, error)              // called at the end of every round; can be nil

	tracing   bool
	lines     []line
	report    Report
	violation *Counterexample
}

// line is a line of a trace. Its group is -1 if the line is not about one group.
type line struct {
	group int
	text  string
}

// Run runs a schedule in a bubble. All goroutines end before it returns.
func Run(t *testing.T, s Schedule) Report {
	t.Helper()
	return runWalk(t, s, false).report
}

// runWalk runs a schedule. If tracing is set, it collects the lines of the trace.
func runWalk(t *testing.T, s Schedule, tracing bool) *walk {
	t.Helper()
	var w *walk
	synctest.Test(t, func(t *testing.T) {
		w = newWalk(t.Context(), s)
		w.tracing = tracing
		w.run()
	})
	return w
}

func newWalk(ctx context.Context, s Schedule) *walk {
	w := &walk{ctx: ctx, schedule: s, chance: rand.New(rand.NewPCG(s.Seed, 2)), zonesQueued: map[[2]int]bool{}, optedOut: map[string]bool{}, selectors: map[string]labels.Selector{}, log: silent()}
	w.overwriting, w.leaseNames = s.Deviations.Overwriting, map[string]*simulatedGroup{}
	w.userLeases = lease.NewStore(client{walk: w}, "", "user")
	w.began = time.Now() //nolint:forbidigo // the time of the bubble
	for n, setting := range s.Groups {
		w.createGroup(n, setting)
	}
	var shown [allKinds]int
	for k := range allKinds {
		shown[k] = len(w.logs[k])
	}
	for n := range s.Processes {
		p := &process{walk: w, no: n, name: "process-" + strconv.Itoa(n), clock: clock{rate: 1, steady: 1}}
		w.processes = append(w.processes, p)
		w.initClock(p)
		p.start(shown)
	}
	w.elect(nil)
	for _, step := range s.Steps {
		w.agenda.add(step.At, func() { w.startStep(step) })
	}
	w.agenda.add(s.FaultsEnd, w.endFaults)
	return w
}

// createGroup creates an available group on its first revision.
func (w *walk) createGroup(no int, s GroupConfig) {
	g := &simulatedGroup{no: no, key: plan.Key{Namespace: s.Namespace, Name: s.Name}, badRevisions: map[string]bool{}, history: newGroupHistory(s.Zones, s.Ordinals, w.schedule.TrueClocks), sizeRequests: make([]int, s.Zones)}
	g.forced, g.absenceChanged = make([]bool, s.Zones), make([]plan.Version, s.Zones)
	if s.Limit > 0 {
		ofGroup := group.Requirement{Key: podGroupLabel, Demand: group.LabelIn, Values: []string{s.Name}}
		g.budgets = []group.DisruptionBudget{{Name: "budget-of-" + s.Name, Selector: group.Selector{ofGroup}, Limit: s.Limit}}
	}
	g.pods, g.podNames = perOrdinal[*pod](s.Zones, s.Ordinals), perOrdinal[podName](s.Zones, s.Ordinals)
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
	g.history.update(g, 0, false, w.wall())
}

func (w *walk) run() {
	for len(w.events) > 0 && w.violation == nil {
		if w.report.Events++; w.report.Events > maxEvents {
			w.violate(nil, "Quiet", fmt.Sprintf("more than %d events", maxEvents))
			break
		}
		w.step()
	}
	w.end()
	w.report.Schedules = 1
	if len(w.groups) >= crowdedGroups {
		w.report.Crowded = 1
	}
	w.report.Days = w.now.Hours() / 24
	if w.violation != nil {
		w.report.Violations = append(w.report.Violations, w.violation)
	}
}

// step runs the next event.
func (w *walk) step() {
	e := w.agenda.next()
	w.now = e.at
	e.fire()
	w.waitForTasks()
}

// end makes all pending requests fail, so that all goroutines end.
func (w *walk) end() {
	for _, p := range w.processes {
		w.endLifetime(p.lifetime)
	}
	w.waitForTasks()
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

// watchLag returns after which time a watch shows a change.
func (w *walk) watchLag() time.Duration {
	if w.chance.IntN(50) == 0 {
		return w.between(0, 2*time.Second)
	}
	return w.between(200*time.Microsecond, 20*time.Millisecond)
}

// controllerDelay returns the additional delay of controllers and kubelets at present.
func (w *walk) controllerDelay() time.Duration {
	if w.slowUntil <= w.now {
		return 0
	}
	return w.between(0, 30*time.Second)
}

func (w *walk) countWrite() { w.report.Actions[writes]++ }

// violate ends a schedule that breaks a rule.
func (w *walk) violate(g *simulatedGroup, rule, detail string) {
	if w.violation != nil {
		return
	}
	w.violation = &Counterexample{Seed: w.schedule.Seed, Rule: rule, Detail: detail, Group: -1, At: clockTime(w.now), Steps: w.schedule.Steps}
	if g != nil {
		w.violation.Group = g.no
	}
	for _, l := range w.lines {
		if l.group < 0 || g == nil || l.group == g.no {
			w.violation.Trace = append(w.violation.Trace, l.text)
		}
	}
}

// trace adds a line about a group to the trace.
func (w *walk) trace(g *simulatedGroup, words ...any) {
	if w.tracing {
		w.lines = append(w.lines, line{g.no, clockTime(w.now) + " " + strings.TrimSpace(fmt.Sprintln(words...))})
	}
}

// traceAll adds a line that is not about one group to the trace.
func (w *walk) traceAll(words ...any) {
	if w.tracing {
		w.lines = append(w.lines, line{-1, clockTime(w.now) + " " + strings.TrimSpace(fmt.Sprintln(words...))})
	}
}

// holdText formats the record in a Lease for a trace.
type holdText group.Hold

// String implements fmt.Stringer.
func (h *holdText) String() string {
	holder := string(h.Holder)
	if h.Holder.Free() {
		holder = "free"
	}
	var records []string
	for _, i := range h.Intents {
		records = append(records, i.Pod)
	}
	if !h.Downscale.None() {
		records = append(records, h.Downscale.String())
	}
	for _, waits := range h.Waiting {
		records = append(records, fmt.Sprintf("(%s %s waits)", waits.Operation, waits.Zone))
	}
	return "hold " + holder + " " + fmt.Sprint(records)
}
