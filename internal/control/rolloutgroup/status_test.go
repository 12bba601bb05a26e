package rolloutgroup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
)

// evaluationIn plans for a scenario.
func evaluationIn(groupState string) evaluation {
	s := fixture.MustParse(groupState)
	return evaluation{s, group.Plan(s)}
}

func shown(groupState string) v1alpha1.RolloutGroupStatus {
	return statusOf(evaluationIn(groupState), 1, v1alpha1.RolloutGroupStatus{})
}

// conditionsIn returns conditions as text: the types of the true ones with their
// reasons, and the reason of Ready.
func conditionsIn(status v1alpha1.RolloutGroupStatus) string {
	var says []string
	for _, c := range status.Conditions {
		if c.Status == metav1.ConditionTrue {
			says = append(says, c.Type+"="+c.Reason)
		} else if c.Type == "Ready" {
			says = append(says, "not Ready="+c.Reason)
		}
	}
	return strings.Join(says, " ")
}

const (
	complete = "zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n"
	pending  = "zone-a rev=2 current=1\n zone-a-0 ready@1\n"
)

func TestConditions(t *testing.T) {
	for sentence, tc := range map[string]struct{ groupState, want string }{
		"all is as it should be":                 {complete, "Ready=GroupComplete"},
		"a rollout begins":                       {pending, "not Ready=OutdatedRevision Reconciling=OutdatedRevision"},
		"a rollout waits for its pod":            {"hold rollout/zone-b\nzone-b rev=2 current=1\n zone-b-0 starting@2 zone-b-1 ready@1\n", "not Ready=PodStarting Reconciling=PodStarting GroupHeld=GroupHeld"},
		"a zone recovers":                        {"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 starting@1\n", "not Ready=PodStarting Reconciling=PodStarting"},
		"a pod crashes":                          {"zone-a rev=1\n zone-a-0 failing@1\n", "not Ready=PodFailing Reconciling=PodFailing"},
		"a person has paused it":                 {"zone-a rev=2 current=1 paused\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "not Ready=Paused"},
		"a pod is down in a zone that is paused": {"zone-a rev=2 current=1 paused\n zone-a-0 ready@1 zone-a-1 starting@2\n", "not Ready=Paused Reconciling=Paused"},
		"it is paused and no pod is due":         {"zone-a rev=1 paused\n zone-a-0 ready@1\n", "Ready=GroupComplete"},
		"another controller interferes":          {"zone-a rev=2 current=1 strategy=RollingUpdate\n zone-a-0 ready@1\n", "not Ready=WrongUpdateStrategy Stalled=WrongUpdateStrategy"},
		"the hold is unreadable":                 {"hold free unreadable=damaged\n" + complete, "not Ready=HoldUnreadable Stalled=HoldUnreadable"},
		"one zone is paused, another one needs a person": {
			"zone-a rev=2 current=1 paused\n zone-a-0 ready@1\nzone-b rev=2 current=1 strategy=RollingUpdate\n zone-b-0 ready@1\n",
			"not Ready=WrongUpdateStrategy Stalled=WrongUpdateStrategy",
		},
		"it was held from outside until lately":      {"hold manual/maintenance renewed 5m ago\n" + complete, "Ready=GroupComplete"},
		"it is held from outside and no pod is due":  {"hold manual/maintenance renewed 5s ago\n" + complete, "Ready=GroupComplete GroupHeld=GroupHeld"},
		"it is held from outside":                    {"hold manual/maintenance renewed 5s ago\n" + pending, "not Ready=GroupHeld Reconciling=GroupHeld GroupHeld=GroupHeld"},
		"a hold is given back":                       {"hold rollout/zone-a\n" + complete, "not Ready=HoldReleased Reconciling=HoldReleased GroupHeld=GroupHeld"},
		"its StatefulSet is new":                     {"zone-a rev=\"\" unobserved replicas=2\n", "not Ready=StatusBehind Reconciling=StatusBehind"},
		"it has no pods and needs none":              {"zone-a rev=1 replicas=0\n", "Ready=GroupComplete"},
		"its zones were deleted and its hold exists": {"hold manual/maintenance renewed 5s ago\n", "not Ready=GroupHeld Reconciling=GroupHeld GroupHeld=GroupHeld"},
	} {
		t.Run(sentence, func(t *testing.T) {
			status := shown(tc.groupState)
			if got := conditionsIn(status); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			for _, c := range status.Conditions {
				if c.ObservedGeneration != 1 || c.Message == "" || c.LastTransitionTime.IsZero() {
					t.Errorf("incomplete: %+v", c)
				}
			}
		})
	}
}

// midRollout is the group of docs/status.md.
func midRollout() evaluation {
	th := evaluationIn(`
hold rollout/zone-a renewed 5s ago
  intent zone-a-1 uid=former version=5
zone-a rev=2 current=1 edits=7
  zone-a-0 ready@2   zone-a-1 starting@2   zone-a-2 ready@1
zone-b rev=2 current=1
  zone-b-0 ready@1   zone-b-1 ready@1   zone-b-2 ready@1
`)
	now := th.snapshot.Now
	th.snapshot.Hold.Since = now.Add(-time.Minute)
	th.snapshot.Hold.Rollouts.Current = plan.RolledGroup{
		Trace: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", Since: now.Add(-2 * time.Minute),
		Zones: []plan.RolledZone{{Name: "zone-a", Replaced: 1}},
	}
	return th
}

func TestStatusPageShowsARealStatus(t *testing.T) {
	page, err := os.ReadFile("../../../docs/status.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	var shown v1alpha1.RolloutGroup
	if err := yaml.Unmarshal([]byte(example), &shown); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(statusOf(midRollout(), 1, v1alpha1.RolloutGroupStatus{}), shown.Status); diff != "" {
		t.Errorf("(-written +page):\n%s", diff)
	}
}

func TestStatusContainsTheNumbersOfARollout(t *testing.T) {
	th := midRollout()
	now := th.snapshot.Now
	got := statusOf(th, 3, v1alpha1.RolloutGroupStatus{})
	got.Conditions = nil
	want := v1alpha1.RolloutGroupStatus{
		ObservedGeneration: 3, Activity: "Rolling", Progress: "1/6", Percent: new(int32(16)),
		Holder: "rollout/zone-a", HoldSince: v1alpha1.Moment(now.Add(-time.Minute)),
		Waiting: &v1alpha1.RolloutGroupWait{
			Reason: "PodStarting", Zone: "zone-a", Pod: "zone-a-1", On: "zone-a-1",
			Message: "a pod exists and is not ready yet (pod zone-a-1, 1 of at most 1 down)",
		},
		Rollout: &v1alpha1.RolloutGroupRollout{
			Since: *v1alpha1.Moment(now.Add(-2 * time.Minute)), EstimatedEnd: v1alpha1.Moment(now.Add(10*time.Minute + time.Minute - 1).Truncate(time.Minute)),
			TraceID: "0123456789abcdef0123456789abcdef",
		},
		Zones: []v1alpha1.RolloutGroupZone{
			{
				Name: "zone-a", ObservedGeneration: 7, Revision: "2", Replicas: 3, Updated: 2, Ready: 2, Done: 1, Down: 1, Budget: 1, Activity: "Rolling",
				Reason: "PodStarting", Message: "a pod exists and is not ready yet (pod zone-a-1, 1 of at most 1 down)",
			},
			{
				Name: "zone-b", Revision: "2", Replicas: 3, Ready: 3, Budget: 1, Activity: "Blocked",
				Reason: "NotItsTurn", Message: "another zone of the group comes first (zone zone-a)",
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConditionKeepsItsTimeUntilItChanges(t *testing.T) {
	early, late := evaluationIn(pending), evaluationIn(strings.Replace(pending, "zone-a-0 ready@1", "zone-a-0 starting@2", 1))
	late.snapshot.Now = early.snapshot.Now.Add(time.Hour)
	first := statusOf(early, 1, v1alpha1.RolloutGroupStatus{})
	second := statusOf(late, 1, first)
	if first.Conditions[1].Reason == second.Conditions[1].Reason || first.Conditions[1].LastTransitionTime != second.Conditions[1].LastTransitionTime {
		t.Errorf("from %+v to %+v", first.Conditions[1], second.Conditions[1])
	}
	done := evaluationIn(complete)
	done.snapshot.Now = early.snapshot.Now.Add(2 * time.Hour)
	third := statusOf(done, 1, second)
	if got := third.Conditions[1].LastTransitionTime.Time; third.Conditions[1].Status != metav1.ConditionFalse || !got.Equal(done.snapshot.Now.Truncate(time.Second)) {
		t.Errorf("at the end %+v", third.Conditions[1])
	}
}

// The CRD allows eight conditions.
func TestForeignConditionsAreRemoved(t *testing.T) {
	want := shown(pending)
	before := v1alpha1.RolloutGroupStatus{Conditions: []metav1.Condition{want.Conditions[3], {Type: "Healthy", Status: metav1.ConditionTrue}, want.Conditions[0]}}
	if got := statusOf(evaluationIn(pending), 1, before); !equality.Semantic.DeepEqual(want, got) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// rollsSince returns a rollout that began at the given time. Of three pods in each of two zones, some
// are replaced, and the next one is starting.
func rollsSince(began, now time.Time, replaced int) evaluation {
	groupState := "hold rollout/zone-a renewed 5s ago\n intent zone-a-X uid=former version=5\nzone-a rev=2 current=1\n"
	for pod := range 3 {
		state := "ready@1"
		switch {
		case pod < replaced:
			state = "ready@2"
		case pod == replaced:
			state = "starting@2"
			groupState = strings.Replace(groupState, "X", fmt.Sprint(pod), 1)
		}
		groupState += fmt.Sprintf(" zone-a-%d %s\n", pod, state)
	}
	groupState += "zone-b rev=2 current=1\n zone-b-0 ready@1\n zone-b-1 ready@1\n zone-b-2 ready@1\n"
	th := evaluationIn(groupState)
	th.snapshot.Now = now
	th.snapshot.Hold.Rollouts.Current = plan.RolledGroup{Since: began, Zones: []plan.RolledZone{{Name: "zone-a", Replaced: replaced}}}
	return th
}

// An estimate that changes at every reconcile would be written at every reconcile.
func TestEstimateIsStableUntilAPodIsReplacedOrItHasPassed(t *testing.T) {
	began := fixture.Now().Truncate(time.Hour)
	var status v1alpha1.RolloutGroupStatus
	var ends []string
	for second := range 400 {
		replaced := 0
		switch {
		case second >= 120:
			replaced = 2
		case second >= 20:
			replaced = 1
		}
		status = statusOf(rollsSince(began, began.Add(time.Duration(second)*time.Second), replaced), 1, status)
		end := "none"
		if status.Rollout.EstimatedEnd != nil {
			end = status.Rollout.EstimatedEnd.Sub(began).String()
		}
		if len(ends) == 0 || ends[len(ends)-1] != end {
			ends = append(ends, end)
		}
	}
	// 20 s a pod, five remain; after two minutes one a minute, and four remain.
	if want := []string{"none", "2m0s", "6m0s", "19m0s"}; !slices.Equal(ends, want) {
		t.Errorf("got %v, want %v", ends, want)
	}
}

func TestFirstEstimateUsesThePaceOfTheLastRollout(t *testing.T) {
	now := fixture.Now().Truncate(time.Hour)
	th := rollsSince(now, now, 0)
	th.snapshot.Hold.Rollouts.Finished = []plan.RolledGroup{
		{Since: now.Add(-time.Hour), Until: now.Add(-time.Hour)}, // no pace can be derived from this one
		{Since: now.Add(-2 * time.Hour), Until: now.Add(-90 * time.Minute), Zones: []plan.RolledZone{{Replaced: 30}}},
	}
	got := statusOf(th, 1, v1alpha1.RolloutGroupStatus{}).Rollout.EstimatedEnd
	if want := now.Add(6 * time.Minute); got == nil || !got.Time.Equal(want) {
		t.Errorf("six pods, a minute each: got %s, want %s", got, want)
	}
}

// The next write of the Lease counts a pod that is Ready.
func TestEstimateCountsPodsThatAreReady(t *testing.T) {
	began := fixture.Now().Truncate(time.Hour)
	th := rollsSince(began, began.Add(time.Minute), 1)
	th.snapshot.Hold.Rollouts.Current.Zones[0].Replaced = 0
	th.snapshot.Hold.Intents[0].Pod = "zone-a-0"
	got := statusOf(th, 1, v1alpha1.RolloutGroupStatus{}).Rollout.EstimatedEnd
	if want := began.Add(6 * time.Minute); got == nil || !got.Time.Equal(want) {
		t.Errorf("one in a minute and five remain: got %s, want %s", got, want)
	}
}

func TestPausedOrFinishedRolloutHasNoEstimate(t *testing.T) {
	began := fixture.Now()
	th := rollsSince(began.Add(-time.Minute), began, 1)
	before := statusOf(th, 1, v1alpha1.RolloutGroupStatus{})
	if before.Rollout.EstimatedEnd == nil {
		t.Fatal("there is none during the rollout")
	}
	th.snapshot.Zones[1].Paused = true
	if end := statusOf(th, 1, before).Rollout.EstimatedEnd; end != nil {
		t.Errorf("paused, and it ends at %s", end)
	}
	done := evaluationIn(complete)
	done.snapshot.Hold.Rollouts = th.snapshot.Hold.Rollouts
	if end := statusOf(done, 1, before).Rollout.EstimatedEnd; end != nil {
		t.Errorf("no pod remains, and it ends at %s", end)
	}
}

func TestInvalidLeaseBreaksNoStatus(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	for sentence, change := range map[string]func(*group.Hold){
		"control characters in a holder":  func(h *group.Hold) { h.Holder = "manual/\x1b[2J\n\u202eall is well" },
		"no UTF-8 in a holder":            func(h *group.Hold) { h.Holder = "manual/\xff\xfe" },
		"a long holder":                   func(h *group.Hold) { h.Holder = plan.Holder("manual/" + long) },
		"control characters in an intent": func(h *group.Hold) { h.Intents[0].Pod, h.Intents[0].Version = "zone-b-0\n\x1b[2J", 1<<40 },
		"a long intent":                   func(h *group.Hold) { h.Intents[0].Pod, h.Intents[0].Version = long, 1<<40 },
		"invalid traces": func(h *group.Hold) {
			h.Rollouts.Current = plan.RolledGroup{Since: fixture.Now(), Trace: "00-" + long}
		},
		"short traces": func(h *group.Hold) { h.Rollouts.Current = plan.RolledGroup{Since: fixture.Now(), Trace: "00-12"} },
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("hold rollout/zone-b\n intent zone-b-0 uid=former version=5\nzone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=2\n zone-b-0 starting@2\n")
			change(&s.Hold)
			status := statusOf(evaluation{s, group.Plan(s)}, 1, v1alpha1.RolloutGroupStatus{})
			texts := map[string]int{status.Holder: longestHolder}
			if w := status.Waiting; w != nil {
				texts[w.Pod], texts[w.On], texts[w.Zone], texts[w.Message] = longestName, longestName, longestName, longestMessage
			}
			if r := status.Rollout; r != nil {
				texts[r.TraceID] = 32
			}
			for _, z := range status.Zones {
				texts[z.Message] = longestMessage
			}
			for _, c := range status.Conditions {
				texts[c.Message] = longestMessage
			}
			for text, most := range texts {
				if len(text) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%d bytes of at most %d: %.80q", len(text), most, text)
				}
			}
		})
	}
}

// A time zone can move the last year to a year that has no RFC 3339 form.
func TestUnrepresentableTimeIsOmitted(t *testing.T) {
	for text, shown := range map[string]bool{
		"9999-12-31T23:59:59-01:00": false, "9999-12-31T23:59:59Z": true, "0000-01-01T00:00:00+01:00": false, "0001-01-01T00:00:00.5Z": false, "2026-01-05T12:00:00Z": true,
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		got := waiting(plan.Wait{Because: plan.Refusal{Until: at}}).Until
		if (got != nil) != shown {
			t.Errorf("%s is shown as %v", text, got)
		}
		rollout := rolloutOf(group.Snapshot{Hold: group.Hold{Hold: plan.Hold{Rollouts: plan.Rollouts{Current: plan.RolledGroup{Since: at}}}}}, nil, v1alpha1.RolloutGroupStatus{})
		if (rollout != nil) != shown {
			t.Errorf("a rollout since %s is shown as %v", text, rollout)
		}
	}
}

func TestMaliciousTextsBreakNoStatus(t *testing.T) {
	for _, text := range fuzzcorpus.Texts() {
		s := fixture.MustParse("hold rollout/zone-b\n intent zone-b-0 uid=former version=5\nzone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=2\n zone-b-0 starting@2\n")
		s.Hold.Holder, s.Hold.Unreadable = plan.Holder("manual/"+text), text
		s.Hold.Intents[0].Pod, s.Hold.Intents[0].Version = text+"x", 1<<40
		s.Hold.Rollouts.Current = plan.RolledGroup{Since: s.Now, Trace: text}
		s.Zones[0].UpdateRevision, s.Zones[0].MaxUnavailable.Invalid = text, text
		steps := append(group.Plan(s), plan.Wait{Zone: text, Because: plan.Refusal{Code: reason.GroupHeld, Zone: text, Pod: text, Detail: text}})
		status := statusOf(evaluation{s, steps}, 1, v1alpha1.RolloutGroupStatus{})
		if !strings.Contains(status.Conditions[0].Message, "InvalidMaxUnavailable") {
			t.Errorf("%.20q: the correction is missing: %s", text, status.Conditions[0].Message)
		}
		for what, most := range map[string]int{status.Holder: longestHolder, status.Waiting.Zone: longestName, status.Waiting.Pod: longestName, status.Waiting.On: longestName} {
			if len(what) > most {
				t.Errorf("%.20q: %d bytes of at most %d: %.80q", text, len(what), most, what)
			}
		}
		written, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		eachText(t, written, func(shown string) {
			if len(shown) > longestMessage || !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%.20q: %d bytes: %.80q", text, len(shown), shown)
			}
		})
	}
}

// eachText calls a function for every string of a JSON document.
func eachText(t *testing.T, document []byte, to func(string)) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(document))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, is := token.(string); is {
			to(text)
		}
	}
}

func TestTooManyZonesOmitSettledOnes(t *testing.T) {
	var groupState strings.Builder
	for i := range 40 {
		pod := "ready@1"
		if i >= 38 {
			pod = "starting@1"
		}
		fmt.Fprintf(&groupState, "zone-%d rev=1\n zone-%d-0 %s\n", i, i, pod)
	}
	status := shown(groupState.String())
	var names []string
	for _, z := range status.Zones {
		names = append(names, z.Name)
	}
	if len(names) != mostZones || status.ZonesOmitted != 8 || !slices.Equal(names[:3], []string{"zone-38", "zone-39", "zone-0"}) || status.Progress != "38/40" {
		t.Errorf("%d zones, %d omitted, %s: %s", len(names), status.ZonesOmitted, status.Progress, names)
	}
}

func TestStatusIsDeterministic(t *testing.T) {
	for _, groupState := range []string{complete, pending, "zone-a rev=1\n zone-a-0 starting@1\n"} {
		th := evaluationIn(groupState)
		first := statusOf(th, 1, v1alpha1.RolloutGroupStatus{})
		th.snapshot.Now = th.snapshot.Now.Add(10 * time.Second)
		if second := statusOf(th, 1, first); !equality.Semantic.DeepEqual(first, second) {
			t.Errorf("%s(-first +second):\n%s", groupState, cmp.Diff(first, second))
		}
	}
}
