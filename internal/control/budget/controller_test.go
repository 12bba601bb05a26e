package budget

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	logtest "github.com/sirupsen/logrus/hooks/test"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// world is a namespace in the caches, and an API server that stores or refuses
// statuses.
type world struct {
	objects   []budgets.Object
	groups    map[plan.Key]group.Snapshot
	foreign   bool // the namespace did not opt in
	refuses   int32
	drops     bool     // statuses are not stored
	bare      bool     // the status subresource does not exist
	written   []string // the paths
	validates string   // the requested validation of unknown fields
	body      map[string]any
}

func (w *world) Objects(string) []budgets.Object { return w.objects }

func (w *world) Managed(string) bool { return !w.foreign }

func (w *world) GroupsIn(string) []plan.Key {
	var keys []plan.Key
	for key := range w.groups {
		keys = append(keys, key)
	}
	return keys
}

func (w *world) Cached(key plan.Key) group.Snapshot { return w.groups[key] }

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(q *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	w.written = append(w.written, q.Method+" "+q.URL.Path)
	w.validates = q.URL.Query().Get("fieldValidation")
	if w.bare {
		text := http.Header{"Content-Type": {"text/plain"}}
		return &http.Response{StatusCode: http.StatusNotFound, Header: text, Body: io.NopCloser(strings.NewReader("404 page not found"))}, nil
	}
	if w.refuses != 0 {
		return apitest.Refusal(w.refuses, whys[w.refuses]), nil
	}
	w.body = nil
	var patch struct {
		Status rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus
	}
	for _, into := range []any{&patch, &w.body} {
		if err := json.Unmarshal(text, into); err != nil {
			return nil, err
		}
	}
	answer := map[string]any{
		"apiVersion": "rollout-operator.grafana.com/v1", "kind": "ZoneAwarePodDisruptionBudget", "metadata": map[string]any{"name": "store"},
	}
	if w.drops {
		return apitest.Answer(http.StatusOK, answer), nil
	}
	answer["status"] = w.body["status"]
	parts := strings.Split(q.URL.Path, "/")
	for i, o := range w.objects {
		if o.Budget.Name == parts[len(parts)-2] {
			if last := patch.Status.LastDecision; last != nil { // a patch of lastDecision contains no other field
				w.objects[i].Status.LastDecision = last
				continue
			}
			patch.Status.LastDecision = o.Status.LastDecision
			w.objects[i].Status = patch.Status
		}
	}
	return apitest.Answer(http.StatusOK, answer), nil
}

var whys = map[int32]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
	http.StatusConflict: metav1.StatusReasonConflict, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
}

// newWorld returns a namespace with the budget store and some groups.
func newWorld(budget group.DisruptionBudget, groups map[string]string) *world {
	budget.Name = "store"
	w := &world{
		objects: []budgets.Object{{Budget: budget, UID: "uid", Version: "7", Generation: 3}},
		groups:  map[plan.Key]group.Snapshot{},
	}
	for name, text := range groups {
		key := plan.Key{Namespace: "team", Name: name}
		s := fixture.MustParse(text)
		s.Key = key
		w.groups[key] = s
	}
	return w
}

func (w *world) controller(tb testing.TB) *Controller {
	tb.Helper()
	client, err := dynamic.NewForConfig(&rest.Config{Host: "http://api", Transport: w, QPS: -1})
	if err != nil {
		tb.Fatal(err)
	}
	log, _ := logtest.NewNullLogger()
	return &Controller{Cache: w, Observer: w, Client: client, Log: log}
}

// reconcile fails the test on an error, and returns when to reconcile again.
func reconcile(t *testing.T, c *Controller) loop.Outcome {
	t.Helper()
	outcome, err := c.Reconcile(t.Context(), "team")
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

const twoZones = "zone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\nzone-b rev=1\n zone-b-0 ready@1 zone-b-1 ready@1\n"

func TestStatusIsWrittenWhenItChanges(t *testing.T) {
	w := newWorld(group.DisruptionBudget{Limit: 2}, map[string]string{"ingester": twoZones})
	decision := &rolloutoperatorv1.ZoneAwarePodDisruptionBudgetDecision{Pod: "zone-a-0", Reason: "GroupHeld"}
	w.objects[0].Status.LastDecision = decision
	c := w.controller(t)
	reconcile(t, c)
	if diff := cmp.Diff([]string{"PATCH /apis/rollout-operator.grafana.com/v1/namespaces/team/zoneawarepoddisruptionbudgets/store/status"}, w.written); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"uid": "uid", "resourceVersion": "7"}, w.body["metadata"]); diff != "" {
		t.Errorf("its purpose (-want +got):\n%s", diff)
	}
	if fields, _ := w.body["status"].(map[string]any); fields["lastDecision"] != nil || fields["partitions"] != nil {
		t.Errorf("written: %v", fields)
	}
	status := w.objects[0].Status
	want := []rolloutoperatorv1.ZoneAwarePodDisruptionBudgetPart{
		{Name: "zone-a", Pods: 2, Unavailable: 1, DisruptionsAllowed: 1}, {Name: "zone-b", Pods: 2},
	}
	if diff := cmp.Diff(want, status.Zones); diff != "" || *status.DisruptionsAllowed != 1 || status.ObservedGeneration != 3 || status.LastDecision != decision {
		t.Errorf("got %+v (zones: -want +got):\n%s", status, diff)
	}
	for range 3 {
		reconcile(t, c)
	}
	if len(w.written) != 1 {
		t.Errorf("written %d times although nothing has changed", len(w.written))
	}
	w.groups[plan.Key{Namespace: "team", Name: "ingester"}] = fixture.MustParse(strings.ReplaceAll(twoZones, "starting", "ready"))
	reconcile(t, c)
	if status := w.objects[0].Status; len(w.written) != 2 || *status.DisruptionsAllowed != 2 || status.Zones[0].Unavailable != 0 {
		t.Errorf("written %d times: %+v", len(w.written), status)
	}
	w.objects[0].Generation = 4
	reconcile(t, c)
	if status := w.objects[0].Status; len(w.written) != 3 || status.ObservedGeneration != 4 || status.Conditions[0].ObservedGeneration != 4 {
		t.Errorf("written %d times: %+v", len(w.written), status)
	}
}

func TestConditionsOfABudget(t *testing.T) {
	const one = "zone-a rev=1\n zone-a-0 ready@1\n"
	for sentence, tc := range map[string]struct {
		budget group.DisruptionBudget
		groups map[string]string
		rivals int
		want   []string
	}{
		"it covers one group": {
			group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": one}, 0,
			[]string{"Valid True BudgetValid: 1 per zone", `Covering True PodsCovered: it covers pods of the group "ingester"`, "Alone True NoOtherBudget: "},
		},
		"it cannot be used": {
			group.DisruptionBudget{Invalid: strings.Repeat("wrong ", 1000)}, map[string]string{"ingester": one}, 0,
			[]string{"Valid False BudgetInvalid: " + strings.Repeat("wrong ", 1000)[:1021] + "...", `Covering True PodsCovered: it covers pods of the group "ingester"`, "Alone True NoOtherBudget: "},
		},
		"its error contains terminal control characters": {
			group.DisruptionBudget{Invalid: "odd \x1b[2J\nlimit"}, map[string]string{"ingester": one}, 0,
			[]string{"Valid False BudgetInvalid: odd ?[2J?limit", `Covering True PodsCovered: it covers pods of the group "ingester"`, "Alone True NoOtherBudget: "},
		},
		"it covers no pods": {
			group.DisruptionBudget{Limit: 1, Selector: group.Selector{{Key: "a", Demand: group.LabelExists}}}, map[string]string{"ingester": one}, 0,
			[]string{"Valid True BudgetValid: 1 per zone", "Covering False NoPodsCovered: its selector matches no pod of a StatefulSet", "Alone True NoOtherBudget: "},
		},
		"it covers several groups": {
			group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": one, "store": one}, 0,
			[]string{"Valid True BudgetValid: 1 per zone", "Covering True SeveralGroups: it covers pods of 2 groups: ingester, store; each is judged by itself", "Alone True NoOtherBudget: "},
		},
		"another one covers the same": {
			group.DisruptionBudget{Percentage: 30}, map[string]string{"ingester": one}, 12,
			[]string{
				"Valid True BudgetValid: 30% per zone", `Covering True PodsCovered: it covers pods of the group "ingester"`,
				"Alone False SeveralBudgets: evictions of pods are refused that these budgets cover too: x-0, x-1, x-2, x-3, x-4, x-5, x-6, x-7, x-8, x-9 and 2 others",
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(tc.budget, tc.groups)
			for i := range tc.rivals {
				w.objects = append(w.objects, budgets.Object{Budget: group.DisruptionBudget{Name: fmt.Sprint("x-", i), Limit: 1}, UID: fmt.Sprint(i)})
			}
			reconcile(t, w.controller(t))
			var got []string
			for _, c := range w.objects[0].Status.Conditions {
				got = append(got, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
				if _, known := reason.Explain(reason.Code(c.Reason)); !known {
					t.Errorf("%s is no reason", c.Reason)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestConditionKeepsItsTransitionTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": twoZones})
		c := w.controller(t)
		reconcile(t, c)
		first := w.objects[0].Status.Conditions
		time.Sleep(time.Hour)
		w.objects[0].Budget.Invalid = "wrong"
		reconcile(t, c)
		for i, condition := range w.objects[0].Status.Conditions {
			if moved := !condition.LastTransitionTime.Equal(&first[i].LastTransitionTime); moved != (condition.Type == "Valid") {
				t.Errorf("%s has changed: %t", condition.Type, moved)
			}
		}
	})
}

func TestTooManyPartsOmitAvailableOnes(t *testing.T) {
	var all []group.BudgetPart
	for i := range 10 {
		all = append(all, group.BudgetPart{Name: fmt.Sprint(i), Pods: 2, Unavailable: i % 3})
	}
	for most, want := range map[int]string{10: "0123456789", 8: "12457803", 6: "124578", 3: "124"} {
		got := ""
		for _, part := range parts(all, most) {
			got += part.Name
		}
		if got != want {
			t.Errorf("of %d: %s, want %s", most, got, want)
		}
	}
	if !slices.IsSortedFunc(all, func(a, b group.BudgetPart) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the report itself has changed")
	}
	status := statusOf(budgets.Object{}, group.BudgetReport{Partitions: make([]group.BudgetPart, mostPartitions+7)}, time.Now())
	if len(status.Partitions) != mostPartitions || status.PartitionsOmitted != 7 {
		t.Errorf("%d written, %d omitted", len(status.Partitions), status.PartitionsOmitted)
	}
}

func TestUnmanagedNamespaceIsNotWritten(t *testing.T) {
	w := newWorld(group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": twoZones})
	w.foreign = true
	if got := reconcile(t, w.controller(t)); got != loop.Gone() || len(w.written) > 0 {
		t.Errorf("%s, written %s", got, w.written)
	}
}

func TestFailedStatusWriteStartsAPause(t *testing.T) {
	for sentence, takes := range map[string]func(w *world, none bool){
		"there is no such path":   refusing(http.StatusNotFound),
		"a permission is missing": refusing(http.StatusForbidden),
		"its CRD drops it":        func(w *world, none bool) { w.drops = none },
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": twoZones})
				takes(w, true)
				c := w.controller(t)
				if got := reconcile(t, c); got != loop.After(pauseFor) {
					t.Errorf("%s", got)
				}
				time.Sleep(time.Minute)
				if got := reconcile(t, c); got != loop.After(pauseFor-time.Minute) || len(w.written) != 1 {
					t.Errorf("%s, written %d times", got, len(w.written))
				}
				takes(w, false)
				time.Sleep(pauseFor - time.Minute)
				reconcile(t, c)
				if w.objects[0].Status.DisruptionsAllowed == nil || len(w.written) != 2 {
					t.Errorf("written %d times", len(w.written))
				}
			})
		})
	}
}

func TestMissingStatusSubresourceIsLoggedOnce(t *testing.T) {
	for sentence, lacks := range map[string]func(w *world, none bool){
		"the CRD drops it":    func(w *world, none bool) { w.drops = none },
		"the CRD has no path": func(w *world, none bool) { w.bare = none },
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": twoZones})
				w.objects = append(w.objects, budgets.Object{Budget: group.DisruptionBudget{Name: "other", Limit: 1}, UID: "other", Generation: 1})
				c := w.controller(t)
				log, lines := logtest.NewNullLogger()
				c.Log = log
				logged := func() (budgets []string) {
					for _, line := range lines.AllEntries() {
						if !strings.Contains(line.Message, "apply lockstep's CustomResourceDefinition") || line.Data["namespace"] != "team" {
							t.Errorf("logged %q with %v", line.Message, line.Data)
						}
						budgets = append(budgets, fmt.Sprint(line.Data["budget"]))
					}
					lines.Reset()
					return budgets
				}
				for round, want := range [][]string{{"store", "other"}, nil, nil, {"store", "other"}} {
					lacks(w, true)
					for i := range w.objects {
						w.objects[i].Status = rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus{}
					}
					reconcile(t, c)
					if diff := cmp.Diff(want, logged()); diff != "" {
						t.Errorf("round %d (-want +got):\n%s", round, diff)
					}
					if w.validates != "Ignore" {
						t.Errorf("unknown fields are validated: %q", w.validates)
					}
					time.Sleep(pauseFor)
					if round == 2 { // install another CRD, and then the former one again
						lacks(w, false)
						reconcile(t, c)
						time.Sleep(pauseFor)
					}
				}
			})
		})
	}
}

// refusing makes the API server refuse statuses with a code; 0 ends that.
func refusing(code int32) func(*world, bool) {
	return func(w *world, none bool) {
		w.refuses = 0
		if none {
			w.refuses = code
		}
	}
}

func TestFailedWriteIsRetriedAndDelaysNoOtherBudget(t *testing.T) {
	w := newWorld(group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": twoZones})
	w.objects = append(w.objects, budgets.Object{Budget: group.DisruptionBudget{Name: "other", Limit: 1}, UID: "other"})
	w.refuses = http.StatusServiceUnavailable
	_, err := w.controller(t).Reconcile(t.Context(), "team")
	if err == nil || reason.ClassOf(err) != reason.Again || !strings.Contains(err.Error(), "write status of budget team/store: ") {
		t.Errorf("got %v (%s), want class %s", err, reason.ClassOf(err), reason.Again)
	}
	if len(w.written) < 2 {
		t.Errorf("written: %s", w.written)
	}
}

// If budgets cannot be watched, each write of a changed status would fail.
func TestConflictWaitsForTheEventOfTheBudget(t *testing.T) {
	w := newWorld(group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": twoZones})
	w.refuses = http.StatusConflict
	if got := reconcile(t, w.controller(t)); got != loop.After(lagging) || len(w.written) != 1 {
		t.Errorf("written %d times, then %s, want %s", len(w.written), got, loop.After(lagging))
	}
}

// A pod becomes available after minReadySeconds, without an event.
func TestStatusThatChangesByTimeIsReconciledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": twoZones})
		key := plan.Key{Namespace: "team", Name: "ingester"}
		for wait, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, time.Second: Pace} {
			s := fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n")
			s.Now = time.Now()
			for i := range s.Zones {
				s.Zones[i].MinReady = time.Hour
				s.Zones[i].Pods[0].ReadySince = s.Now.Add(wait - time.Hour)
			}
			w.groups[key] = s
			if got := reconcile(t, w.controller(t)); got != loop.After(want) {
				t.Errorf("%s: %s, want %s", wait, got, want)
			}
		}
	})
}
