package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
	"github.com/lockstep-dev/lockstep/internal/show/report"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// pinboard collects Events.
type pinboard struct {
	mu     sync.Mutex
	events []event
}

type event struct {
	about *corev1.ObjectReference
	kind  string
	code  string
	what  string
	note  string
}

func (e event) String() string {
	return fmt.Sprintf("%s %s %s: %s", e.about.Name, e.kind, e.code, e.note)
}

// Eventf implements report.Recorder.
func (p *pinboard) Eventf(regarding, _ runtime.Object, kind, code, action, note string, args ...any) {
	about, ok := regarding.(*corev1.ObjectReference)
	if !ok {
		panic(fmt.Sprintf("an Event about %T", regarding))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, event{about, kind, code, action, fmt.Sprintf(note, args...)})
}

// sent returns the Events since the last call.
func (p *pinboard) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, e := range p.events {
		all = append(all, e.String())
	}
	p.events = nil
	return all
}

// room is a Reporter with its Events, and the time that has passed for it.
type room struct {
	*report.Reporter
	pinboard
	metrics *telemetry.Metrics
	passed  time.Duration
}

func newRoom() *room {
	r := &room{metrics: telemetry.NewMetrics("test")}
	r.Reporter = report.New(&r.pinboard, r.metrics)
	return r
}

// reportPlan reports the plan for a situation. No action of it was carried out.
func (r *room) reportPlan(t *testing.T, situation string) bool {
	t.Helper()
	news, _ := r.show(fixture.MustParse(situation))
	return news
}

// show reports the plan for a snapshot at the room's time.
func (r *room) show(s group.Snapshot) (news bool, due time.Duration) {
	s.Now = s.Now.Add(r.passed)
	return r.Group(s, group.Plan(s), nil)
}

// lasts reports a snapshot for as long as a wait must last to become an Event. It returns how
// often there was an Event.
func (r *room) lasts(s group.Snapshot) (news int) {
	for range 2 {
		if sent, _ := r.show(s); sent {
			news++
		}
		r.passed += noticeable
	}
	return news
}

// noticeable is how long a wait must last to become an Event.
const noticeable = 2 * time.Second

// series returns the metrics of groups.
func (r *room) series(t *testing.T) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	r.metrics.Handler(logrus.New()).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	var lines []string
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "lockstep_group_") || strings.HasPrefix(line, "lockstep_statefulcluster_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

const (
	rolling  = "hold rollout/zone-a\nzone-a rev=2 current=1\n zone-a-0 starting@2 zone-a-1 ready@1\nzone-b rev=2 current=1\n zone-b-0 ready@1\n"
	failing  = "zone-a rev=2 current=1\n zone-a-0 failing@2 why=CrashLoopBackOff zone-a-1 ready@1\n"
	starting = "zone-a rev=2 current=1\n zone-a-0 starting@2 zone-a-1 ready@1\n"
	settled  = "zone-a rev=2\n zone-a-0 ready@2 zone-a-1 ready@2\n"
	paused   = "zone-a rev=2 current=1 paused\n zone-a-0 ready@1\n"
)

func TestLastingWaitsBecomeEvents(t *testing.T) {
	const crash = "zone-a Warning PodFailing: waits: a container of the pod cannot run (crash loop, image pull, configuration) (pod zone-a-0, CrashLoopBackOff, 1 of at most 1 down)"
	for sentence, tc := range map[string]struct {
		reports []string
		want    []string
	}{
		"a pod's way back is no news":                     {[]string{starting, settled, starting}, nil},
		"a pod that fails is reported":                    {[]string{failing}, []string{crash}},
		"it is reported once":                             {[]string{failing, failing, failing}, []string{crash}},
		"a crash loop that restarts is reported once":     {[]string{failing, starting, failing, starting, failing}, []string{crash}},
		"after the zone has settled it is reported again": {[]string{failing, settled, failing}, []string{crash, crash}},
		"another reason is reported": {[]string{failing, paused}, []string{
			crash, "zone-a Normal Paused: waits: the StatefulSet has the annotation grafana.com/rollout-paused=true",
		}},
		"a zone that waits for its turn is reported once": {[]string{rolling, rolling}, []string{
			"zone-b Normal NotItsTurn: waits: another zone of the group comes first (zone zone-a)",
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom()
			sent := 0
			for _, situation := range tc.reports {
				sent += r.lasts(fixture.MustParse(situation))
			}
			if diff := cmp.Diff(tc.want, r.sent()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if sent != len(tc.want) {
				t.Errorf("returned true %d times", sent)
			}
		})
	}
}

func TestAWaitBecomesAnEventAfterTwoSeconds(t *testing.T) {
	const (
		turn  = "zone-b Normal NotItsTurn: waits: another zone of the group comes first (zone zone-a)"
		other = "hold rollout/zone-c\nzone-b rev=2 current=1\n zone-b-0 ready@1\nzone-c rev=2 current=1\n zone-c-0 starting@2\n"
		next  = "zone-b Normal NotItsTurn: waits: another zone of the group comes first (zone zone-c)"
		odd   = "zone-a rev=2 budget=lots\n zone-a-0 ready@2\n"
		lots  = `zone-a Warning InvalidMaxUnavailable: the annotation rollout-max-unavailable is neither a positive number nor a percentage from 1% to 100%; lockstep uses 1 (lots)`
	)
	type step struct {
		at        time.Duration
		situation string
		want      []string
		due       time.Duration
	}
	const soon = noticeable - time.Millisecond
	for sentence, reports := range map[string][]step{
		"a wait that ends early is no Event": {{0, rolling, nil, noticeable}, {soon, settled, nil, 0}},
		"a wait that lasts is one, once": {
			{0, rolling, nil, noticeable}, {soon, rolling, nil, time.Millisecond}, {noticeable, rolling, []string{turn}, time.Minute - noticeable}, {2 * noticeable, rolling, nil, time.Minute - 2*noticeable},
		},
		"a wait for another zone is another wait": {
			{0, rolling, nil, noticeable}, {soon, other, nil, noticeable}, {noticeable, other, nil, soon}, {soon + noticeable, other, []string{next}, time.Minute - noticeable},
		},
		"a wait that ends and begins again lasts from its second beginning": {{0, rolling, nil, noticeable}, {soon, settled, nil, 0}, {noticeable, rolling, nil, noticeable}},
		"a remark that is corrected early is no Event":                      {{0, odd, nil, noticeable}, {soon, settled, nil, 0}},
		"a remark that lasts is one Event":                                  {{0, odd, nil, noticeable}, {noticeable, odd, []string{lots}, 0}, {time.Hour, odd, nil, 0}},
		"at the goal no Event is due":                                       {{0, settled, nil, 0}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom()
			for _, l := range reports {
				r.passed = l.at
				news, due := r.show(fixture.MustParse(l.situation))
				if diff := cmp.Diff(l.want, r.sent()); diff != "" || news != (l.want != nil) {
					t.Errorf("after %s, with news: %t (-want +got):\n%s", l.at, news, diff)
				}
				if due != l.due {
					t.Errorf("after %s the next reconcile is due in %s, want %s", l.at, due, l.due)
				}
			}
		})
	}
}

// The group is not reconciled again until something changes.
func TestARefusedPlanIsReportedAtOnce(t *testing.T) {
	r := newRoom()
	news, due := r.Group(fixture.MustParse(settled), []plan.Action{plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: reason.InvariantViolated}}}, nil)
	if sent := r.sent(); len(sent) != 1 || !news || due != 0 {
		t.Errorf("sent %t, due in %s, reported %q", news, due, sent)
	}
}

// During a rollout without failures, each Event is written once.
func TestARolloutReportsEachFactOnce(t *testing.T) {
	for sentence, situation := range map[string]string{
		"three zones of four pods": "zone-a rev=2 current=1\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 ready@1\n" +
			"zone-b rev=2 current=1\n zone-b-0 ready@1 zone-b-1 ready@1 zone-b-2 ready@1 zone-b-3 ready@1\n" +
			"zone-c rev=2 current=1\n zone-c-0 ready@1 zone-c-1 ready@1 zone-c-2 ready@1 zone-c-3 ready@1\n",
		"pods that have to be stable": "zone-a rev=2 current=1 minReady=5s\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1\n" +
			"zone-b rev=2 current=1 minReady=5s\n zone-b-0 ready@1 zone-b-1 ready@1 zone-b-2 ready@1\n",
		"a budget of two": "zone-a rev=2 current=1 budget=2\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1\n" +
			"zone-b rev=2 current=1 budget=2\n zone-b-0 ready@1 zone-b-1 ready@1 zone-b-2 ready@1\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			r, world := newRoom(), fixture.NewWorld(fixture.MustParse(situation))
			deleted := 0
			for range 200 {
				s := world.Snapshot()
				steps, _ := world.Round()
				var done []plan.Receipt
				for _, step := range steps {
					if _, waits := step.(plan.Wait); !waits {
						done = append(done, plan.Receipt{Step: step})
					}
				}
				r.Group(s, steps, done)
				world.Tick()
			}
			if !fixture.AtGoal(world.Snapshot()) {
				t.Fatal("the rollout has not ended")
			}
			times := map[string]int{}
			for _, e := range r.sent() {
				times[e]++
				if strings.Contains(e, "deleted pod") {
					deleted++
				}
			}
			for e, n := range times {
				if n > 1 {
					t.Errorf("%d times: %s", n, e)
				}
			}
			if want := strings.Count(situation, "ready@1"); deleted != want {
				t.Errorf("%d deletes were reported, want %d", deleted, want)
			}
			t.Logf("%d Events", len(times))
		})
	}
}

func TestActionsAreReportedWhenTheyAreDone(t *testing.T) {
	r := newRoom()
	s := fixture.MustParse(settled)
	action := plan.DeletePod{Zone: "zone-a", Pod: "zone-a-0", Because: reason.OutdatedRevision}
	steps := []plan.Action{action}
	if news, _ := r.Group(s, steps, []plan.Receipt{{Step: action, Err: errors.New("conflict")}}); news {
		t.Error("a failed action is reported as an Event")
	}
	if sent := r.sent(); sent != nil {
		t.Errorf("reported an action that failed: %v", sent)
	}
	if news, _ := r.Group(s, steps, []plan.Receipt{
		{Step: action},
		{Step: plan.CancelDeletion{Intent: plan.Intent{Zone: "zone-a", Pod: "zone-a-1"}, Because: plan.Refusal{Code: reason.Paused}}},
		{Step: group.AdoptRevision{Zone: "zone-a", Revision: "web-2"}},
		{Step: plan.Release{Holder: "rollout/zone-a"}},
	}); !news {
		t.Error("actions are not reported as Events")
	}
	about := r.events[0].about
	if about.Kind != "StatefulSet" || about.APIVersion != "apps/v1" || about.Namespace != "team" || about.Name != "zone-a" || string(about.UID) != s.Zones[0].UID {
		t.Errorf("the Event is about %+v", about)
	}
	var actions []string
	for _, e := range r.events {
		actions = append(actions, e.what)
	}
	if diff := cmp.Diff([]string{"DeletePod", "CancelDeletion", "AdoptRevision"}, actions); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	want := []string{
		"zone-a Normal OutdatedRevision: deleted pod zone-a-0: the pod does not run the update revision of its StatefulSet",
		"zone-a Normal DeletionCancelled: no longer deletes pod zone-a-1 (Paused): the planned deletion of a pod was cancelled; lockstep updated the pod so that a pending delete request fails its resourceVersion precondition",
		"zone-a Normal RevisionComplete: made web-2 the current revision: every pod of the zone runs the update revision and is available, so the update revision becomes the current revision",
	}
	if diff := cmp.Diff(want, r.sent()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheEndOfADownscaleIsReportedForItsOwnStatefulSet(t *testing.T) {
	for uid, want := range map[string]int{"zone-a": 1, "former": 0} {
		r := newRoom()
		s := fixture.MustParse("live\nhold downscale/zone-a\n  downscale zone-a from 3 to 2 admitted version=20 uid=" + uid + "\nzone-a rev=2 version=30\n  zone-a-0 ready@2\n  zone-a-1 ready@2")
		ends := plan.Only[group.EndDownscale](group.Plan(s))
		if len(ends) != 1 {
			t.Fatalf("the downscale of UID %q ends %d times, want once", uid, len(ends))
		}
		if r.Group(s, nil, []plan.Receipt{{Step: ends[0]}}); len(r.events) != want {
			t.Errorf("%d Events for the UID %q: %v, want %d", len(r.events), uid, r.sent(), want)
		}
	}
}

// evacuate is an action that lockstep does not have.
type evacuate struct{ event plan.Event }

func (evacuate) Reason() reason.Code { return reason.RevisionComplete }
func (evacuate) String() string      { return "evacuate" }
func (evacuate) Effect() plan.Effect { return plan.Effect{} }
func (a evacuate) Event() plan.Event { return a.event }

func TestAFurtherActionIsShownByItsEvent(t *testing.T) {
	done := func(e plan.Event, err error) plan.Receipt { return plan.Receipt{Step: evacuate{e}, Err: err} }
	for sentence, tc := range map[string]struct {
		receipt plan.Receipt
		want    []string
	}{
		"done":             {done(plan.Event{Zone: "zone-a", Action: "Evacuate", Note: "evacuated zone-a"}, nil), []string{"zone-a Normal RevisionComplete: evacuated zone-a"}},
		"with a warning":   {done(plan.Event{Zone: "zone-a", Action: "Evacuate", Note: "evacuated", Warning: true}, nil), []string{"zone-a Warning RevisionComplete: evacuated"}},
		"failed":           {done(plan.Event{Zone: "zone-a", Note: "evacuated zone-a"}, errors.New("refused")), nil},
		"without an Event": {done(plan.Event{}, nil), nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom()
			r.Group(fixture.MustParse(settled), nil, []plan.Receipt{tc.receipt})
			if diff := cmp.Diff(tc.want, r.sent(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRemarksAreReportedOnce(t *testing.T) {
	odd := fixture.MustParse(settled)
	odd.Zones[0].MaxUnavailable.Invalid = `"lots"`
	plain := fixture.MustParse(settled)
	anew := fixture.MustParse(settled)
	anew.Zones[0].UID, anew.Zones[0].MaxUnavailable.Invalid = "another", `"lots"`
	unnamed := fixture.MustParse(settled)
	unnamed.Key.Name = ""
	const invalid = `zone-a Warning InvalidMaxUnavailable: the annotation rollout-max-unavailable is neither a positive number nor a percentage from 1% to 100%; lockstep uses 1 ("lots")`
	const nameless = "zone-a Warning EmptyGroupName: the label rollout-group is empty, so all such StatefulSets of the namespace form one group"
	for sentence, tc := range map[string]struct {
		reports []group.Snapshot
		want    []string
	}{
		"while it lasts":                          {[]group.Snapshot{odd, odd, odd}, []string{invalid}},
		"again if it appears again":               {[]group.Snapshot{odd, plain, odd}, []string{invalid, invalid}},
		"of a StatefulSet that was created again": {[]group.Snapshot{odd, anew}, []string{invalid, invalid}},
		"a group without a name":                  {[]group.Snapshot{unnamed, unnamed}, []string{nameless}},
		"none without a remark":                   {[]group.Snapshot{plain}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom()
			for _, s := range tc.reports {
				r.lasts(s)
			}
			if diff := cmp.Diff(tc.want, r.sent()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A wait that should end by itself is reported if it does not.
func TestALastingWaitIsReported(t *testing.T) {
	const sent = "zone-a Normal PodStarting: waits: a pod exists and is not ready yet (pod zone-a-0, 1 of at most 1 down)"
	r := newRoom()
	s := fixture.MustParse(starting)
	for minute, want := range [][]string{nil, {sent}, nil, nil} {
		s.Now = s.Now.Add(time.Minute)
		r.Group(s, group.Plan(s), nil)
		if diff := cmp.Diff(want, r.sent()); diff != "" {
			t.Errorf("after %d minutes (-want +got):\n%s", minute, diff)
		}
	}
	other := fixture.MustParse("zone-a rev=2 current=1\n zone-a-0 ready@2 zone-a-1 starting@2\n")
	const toldOfNext = "zone-a Normal PodStarting: waits: a pod exists and is not ready yet (pod zone-a-1)"
	for minute, want := range [][]string{nil, {toldOfNext}} {
		other.Now = s.Now.Add(time.Duration(minute) * time.Minute)
		r.Group(other, group.Plan(other), nil)
		if diff := cmp.Diff(want, r.sent()); diff != "" {
			t.Errorf("the next pod after %d minutes (-want +got):\n%s", minute, diff)
		}
	}
}

// Pods that fail in turn cause one Event. Another pod that fails for long causes the next.
func TestAnotherLastingPodFailureIsReported(t *testing.T) {
	of := func(pods string) group.Snapshot {
		return fixture.MustParse("zone-a rev=2 current=1 budget=2\n " + pods + " zone-a-2 ready@1\n")
	}
	const first, second = "zone-a-0 failing@2 why=CrashLoopBackOff zone-a-1 starting@2", "zone-a-0 starting@2 zone-a-1 failing@2 why=CrashLoopBackOff"
	const sent = "zone-a Warning PodFailing: waits: a container of the pod cannot run (crash loop, image pull, configuration) (pod %s, CrashLoopBackOff, 2 of at most 2 down)"
	r, now := newRoom(), fixture.Now()
	for i, step := range []struct {
		pods  string
		after time.Duration
		want  []string
	}{
		{first, 0, nil},
		{first, noticeable, []string{fmt.Sprintf(sent, "zone-a-0")}},
		{second, 30 * time.Second, nil},
		{first, 30 * time.Second, nil},
		{second, 30 * time.Second, nil},
		{second, 30 * time.Second, nil},
		{second, 30 * time.Second, []string{fmt.Sprintf(sent, "zone-a-1")}},
		{second, time.Hour, nil},
		{first, time.Hour, nil},
		{first, time.Minute, []string{fmt.Sprintf(sent, "zone-a-0")}},
	} {
		now = now.Add(step.after)
		s := of(step.pods)
		s.Now = now
		r.Group(s, group.Plan(s), nil)
		if diff := cmp.Diff(step.want, r.sent()); diff != "" {
			t.Errorf("report %d (-want +got):\n%s", i, diff)
		}
	}
}

// A wait that a person must end is a Warning, unless a user requested it.
func TestSeverity(t *testing.T) {
	s := fixture.MustParse(settled)
	for _, entry := range reason.All() {
		r := newRoom()
		for range 2 {
			r.Group(s, []plan.Action{plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: entry.Code}}}, nil)
			s.Now = s.Now.Add(noticeable)
		}
		want := []string(nil)
		switch {
		case entry.Code == reason.Paused, entry.Code == reason.ReplicasForced, entry.Code == reason.PauseExpired:
			want = []string{corev1.EventTypeNormal}
		case entry.Kind == reason.Attention, entry.Code == reason.PodFailing, entry.Code == reason.RequestFailing, entry.Code == reason.ClusterRestored:
			want = []string{corev1.EventTypeWarning}
		case slices.Contains([]reason.Code{reason.OtherZoneUnavailable, reason.NotItsTurn, reason.GroupHeld, reason.CacheStale, reason.QueuedBehindOtherZone, reason.PreparationCancelled}, entry.Code):
			want = []string{corev1.EventTypeNormal}
		}
		var got []string
		for _, e := range r.events {
			got = append(got, e.kind)
			if e.code != string(entry.Code) || !strings.Contains(e.note, entry.Sentence) {
				t.Errorf("%s is reported as %s", entry.Code, e)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entry.Code, diff)
		}
	}
}

func TestMetricsOfAGroup(t *testing.T) {
	r := newRoom()
	s := fixture.MustParse(rolling)
	action := plan.DeletePod{Zone: "zone-a", Pod: "zone-a-1", Because: reason.OutdatedRevision}
	r.Group(s, group.Plan(s), []plan.Receipt{{Step: action}, {Step: action, Err: errors.New("conflict")}})
	for _, want := range []string{
		`lockstep_group_hold_held{group="store",namespace="team",operation="rollout",zone="zone-a"} 1`,
		`lockstep_group_pods_deleted_total{group="store",namespace="team",reason="OutdatedRevision",zone="zone-a"} 1`,
		`lockstep_group_zone_pods{group="store",namespace="team",state="desired",zone="zone-a"} 2`,
		`lockstep_group_zone_pods{group="store",namespace="team",state="ready",zone="zone-a"} 1`,
		`lockstep_group_zone_pods{group="store",namespace="team",state="outdated",zone="zone-a"} 1`,
		`lockstep_group_zone_pods{group="store",namespace="team",state="down",zone="zone-a"} 1`,
		`lockstep_group_zone_waiting{group="store",namespace="team",reason="PodStarting",zone="zone-a"} 1`,
		`lockstep_group_zone_waiting{group="store",namespace="team",reason="NotItsTurn",zone="zone-b"} 1`,
	} {
		if !slices.Contains(r.series(t), want) {
			t.Errorf("missing: %s", want)
		}
	}
	r.reportPlan(t, settled)
	for _, line := range r.series(t) {
		if strings.Contains(line, "zone-b") || strings.Contains(line, "waiting") || strings.Contains(line, "hold_held") {
			t.Errorf("still shown: %s", line)
		}
	}
	r.Forget(s.Key)
	if left := r.series(t); len(left) != 0 {
		t.Errorf("series of a forgotten group: %v", left)
	}
}

// A StatefulSet without a group, or a budget, may have the name of a group.
func TestOnlyGroupsThatAreRolledHaveMetrics(t *testing.T) {
	for sentence, namesake := range map[string]plan.Key{
		"a StatefulSet that is scaled down under a hold": {Namespace: "team", Name: "store", Kind: plan.KindStatefulSet},
		"StatefulSets that a budget covers":              {Namespace: "team", Name: "store", Kind: plan.KindBudget},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom()
			r.reportPlan(t, rolling)
			before := r.series(t)
			other := fixture.MustParse(settled)
			other.Key = namesake
			r.Group(other, group.Plan(other), nil)
			if diff := cmp.Diff(before, r.series(t)); diff != "" {
				t.Errorf("it changes those of the group (-before +after):\n%s", diff)
			}
			r.Forget(namesake)
			if diff := cmp.Diff(before, r.series(t)); diff != "" {
				t.Errorf("when it is deleted, it removes those of the group (-before +after):\n%s", diff)
			}
		})
	}
}

func TestAForeignHolderIsNoLabelValue(t *testing.T) {
	r := newRoom()
	s := fixture.MustParse(settled)
	s.Hold = group.Hold{Hold: plan.Hold{Exists: true, Holder: "manual/for Anna, until Friday"}}
	r.Group(s, group.Plan(s), nil)
	if want := `lockstep_group_hold_held{group="store",namespace="team",operation="other",zone=""} 1`; !slices.Contains(r.series(t), want) {
		t.Errorf("got %v, want %s", r.series(t), want)
	}
}

// Whichever pod is deleted first, its counter existed before.
func TestDeletionsAreCountedFromZero(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, s := newRoom(), draw.Odd().Filter(rolled).Draw(rt, "group")
		steps := group.Plan(s)
		r.Group(s, steps, nil)
		series := r.series(t)
		for _, step := range steps {
			d, deletes := step.(plan.DeletePod)
			begun := fmt.Sprintf("lockstep_group_pods_deleted_total{group=%q,namespace=%q,reason=%q,zone=%q} 0", s.Key.Name, s.Key.Namespace, d.Because, d.Zone)
			if deletes && !slices.Contains(series, begun) {
				rt.Errorf("no series %s", begun)
			}
		}
	})
}

// rolled reports whether the snapshot is of a group that has metrics.
func rolled(s group.Snapshot) bool { return s.Key.Rolled() }

func TestAnExpiredHoldIsNotShown(t *testing.T) {
	r := newRoom()
	for situation, want := range map[string]int{
		"hold manual/maintenance renewed 5s ago\n" + settled: 3,
		"hold manual/maintenance renewed 5m ago\n" + settled: 0,
	} {
		s := fixture.MustParse(situation)
		s.Hold.Since = s.Now.Add(-time.Hour)
		r.Group(s, group.Plan(s), nil)
		got := slices.DeleteFunc(r.series(t), func(line string) bool {
			return !strings.Contains(line, "_hold_") || strings.Contains(line, "transitions")
		})
		if len(got) != want {
			t.Errorf("of %s there is %q, want %d", situation, got, want)
		}
	}
}

func TestTheLastRecordOfAGroup(t *testing.T) {
	r := newRoom()
	s := fixture.MustParse(failing)
	if _, ok := r.Last(s.Key); ok || len(r.Keys()) != 0 {
		t.Error("a group without a report has a record")
	}
	steps := group.Plan(s)
	r.Group(s, steps, []plan.Receipt{{Step: plan.Release{}, Err: errors.New("read lease: no route to host")}})
	last, ok := r.Last(s.Key)
	want := report.Record{
		At: s.Now, Snapshot: &s, Plan: strings.Split(plan.Notation(steps), "\n"), Errors: []string{"read lease: no route to host"},
	}
	if diff := cmp.Diff(want, last); diff != "" || !ok {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.reportPlan(t, settled)
	last, _ = r.Last(s.Key)
	text, err := json.Marshal(last)
	if err != nil || !strings.Contains(string(text), `"plan":[]`) || strings.Contains(string(text), "errors") {
		t.Errorf("at the goal it reads %s, %v", text, err)
	}
	if last.Snapshot != nil {
		t.Errorf("at the goal %+v is kept", last.Snapshot)
	}
	if diff := cmp.Diff([]plan.Key{s.Key}, r.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	r.Forget(s.Key)
	if _, ok := r.Last(s.Key); ok || len(r.Keys()) != 0 {
		t.Error("a group that is forgotten is still known")
	}
	if r.lasts(fixture.MustParse(failing)); len(r.sent()) != 1 {
		t.Error("a group that is created again is not reported again")
	}
}

// Whatever a snapshot contains, every Event is about a StatefulSet of the group and has a code of
// the catalogue.
func TestEveryEventIsAboutAZoneOfTheGroup(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := draw.Odd().Draw(rt, "group")
		r := newRoom()
		r.lasts(s)
		for _, e := range r.events {
			if _, ok := s.Zone(e.about.Name); !ok {
				rt.Errorf("%s is about no zone of the group", e)
			}
			if _, ok := reason.Explain(reason.Code(e.code)); !ok {
				rt.Errorf("%s has an unknown code", e)
			}
			if i := strings.IndexFunc(e.note, unicode.IsControl); i >= 0 {
				rt.Errorf("%q has a control character", e.note)
			}
		}
	})
}

func TestGroupsAreReportedAtTheSameTime(t *testing.T) {
	r := newRoom()
	var telling sync.WaitGroup
	for i := range 4 {
		telling.Go(func() {
			s := fixture.MustParse(failing)
			s.Key.Name = fmt.Sprint("group-", i)
			for range 20 {
				s.Now = s.Now.Add(noticeable)
				r.Group(s, group.Plan(s), nil)
				r.Last(s.Key)
				r.Keys()
			}
			r.Forget(s.Key)
		})
	}
	telling.Wait()
	if n := len(r.sent()); n != 4 {
		t.Errorf("%d Events, want one for each group", n)
	}
}

func TestRecordsDroppedAfterARestoreAreReportedAndCounted(t *testing.T) {
	intent := plan.Intent{Zone: "zone-a", Pod: "zone-a-0", UID: "former"}
	downscale := group.Downscale{Zone: "zone-a", UID: "former", From: 3, To: 2}
	for note, step := range map[string]plan.Action{
		"drops the record of pod zone-a-0":              plan.EndIntent{Intent: intent, Because: reason.HoldRestored},
		"drops the record of the downscale from 3 to 2": group.EndDownscale{Downscale: downscale, Restored: true},
	} {
		r := newRoom()
		r.Group(fixture.MustParse(settled), nil, []plan.Receipt{{Step: step}})
		if sent := r.sent(); len(sent) != 1 || !strings.HasPrefix(sent[0], "zone-a Warning HoldRestored: "+note+": ") {
			t.Errorf("reported %q, want %s", sent, note)
		}
		answer := httptest.NewRecorder()
		r.metrics.Handler(logrus.New()).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		if want := `lockstep_restores_seen_total{of="hold"} 1`; !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%s: no series %s", note, want)
		}
	}
}

// The wait between two writes and the remark cause only one Event.
func TestReplicasThatAnotherWriterOverwritesAreOneEvent(t *testing.T) {
	const situation = "zone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1 leader=zone-a set=2@1s overwritten overwrites=5@1s writer=gitops\n zone-b-0 ready@1\n"
	r := newRoom()
	s := fixture.MustParse(situation)
	var sent []string
	for range 10 {
		r.Group(s, group.Plan(s), nil)
		sent = append(sent, r.sent()...)
		s = fixture.Clone(s)
		s.Now = s.Now.Add(time.Second)
	}
	want := []string{`zone-b Warning ReplicasContested: another client repeatedly overwrites the spec.replicas that lockstep sets, so lockstep sets it less often; remove replicas from the manifest that the client applies (field manager "gitops")`}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
