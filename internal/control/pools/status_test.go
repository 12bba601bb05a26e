package pools

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

func TestAStatusIsWrittenAtMostOnceASecondAndOnlyIfItHasChanged(t *testing.T) {
	s, start := statuses{}, time.Now()
	for _, c := range []struct {
		after time.Duration
		text  string
		write bool
		rest  time.Duration
	}{
		{0, "one", true, 0},
		{time.Hour, "one", false, 0},
		{time.Hour, "two", true, 0},
		{time.Hour + 400*time.Millisecond, "three", false, 600 * time.Millisecond},
		{time.Hour + 500*time.Millisecond, "two", false, 0},
		{time.Hour + time.Second, "three", true, 0},
	} {
		if write, rest := s.changed(key, c.text, start.Add(c.after)); write != c.write || rest != c.rest {
			t.Errorf("%s after %s: write %t, rest %s; want %t, %s", c.text, c.after, write, rest, c.write, c.rest)
		}
	}
	s.forget(key)
	if write, _ := s.changed(key, "three", start.Add(time.Hour+time.Second)); !write {
		t.Error("a forgotten status is not written again")
	}
}

// Without that, a status that an API server has not accepted would stay unwritten until it changes again.
func TestAStatusThatWasNotWrittenIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, refused := 0, true
		client, err := dynamic.NewForConfig(&rest.Config{Host: "http://api", QPS: -1, Transport: transport(func() *http.Response {
			if requests++; refused {
				return apitest.Refusal(http.StatusConflict, metav1.StatusReasonConflict)
			}
			return apitest.Answer(http.StatusOK, map[string]any{"kind": "StatefulCluster", "apiVersion": "lockstep.dev/v1alpha1", "metadata": map[string]any{"name": "db"}})
		})})
		if err != nil {
			t.Fatal(err)
		}
		w := world{cached: observed(false, 1, "a")}
		c := w.controller(true, freshness.NewLog())
		c.Client, c.DryRun = client, false
		logged := logtest.NewLocal(c.Log)
		reconcile := func() loop.Outcome {
			t.Helper()
			outcome, err := c.Reconcile(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			return outcome
		}
		for n, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			pause *= time.Second
			if got := reconcile(); got != loop.After(pause) || requests != n+1 {
				t.Fatalf("after the failed write %d: %d requests, and another look is %s, want %s", n+1, requests, got, loop.After(pause))
			}
			if got, want := len(logged.AllEntries()), max(0, n+2-failuresLast); got != want {
				t.Errorf("after the failed write %d: %d warnings, want %d", n+1, got, want)
			}
			time.Sleep(pause / 2) // an event
			if got := reconcile(); got != loop.After(pause/2) || requests != n+1 {
				t.Fatalf("in the pause after the failed write %d: %d requests, and another look is %s", n+1, requests, got)
			}
			time.Sleep(pause / 2)
		}
		refused = false
		before := requests
		for range 2 {
			if got := reconcile(); got != loop.Done() || requests != before+1 {
				t.Errorf("%d requests after those that failed, and another look is %s", requests-before, got)
			}
		}
		refused, w.cached.Object.Generation = true, 2
		time.Sleep(time.Second)
		if got := reconcile(); got != loop.After(time.Second) {
			t.Errorf("after a write that did not fail and one that did, another look is %s", got)
		}
	})
}

// The patch fails if the object has another UID or another version, because another process may have written the status since (ADR 47).
func TestAStatusIsOnlyWrittenToTheObjectThatWasRead(t *testing.T) {
	c, sent := statusWriter(t)
	seen := observed(false, 1, "a")
	seen.Object.Version = 17
	c.statuses.write(t.Context(), c, seen, nil)
	if len(*sent) != 1 {
		t.Fatalf("%d requests, want 1", len(*sent))
	}
	var patch []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal([]byte((*sent)[0]), &patch); err != nil {
		t.Fatal(err)
	}
	for path, value := range map[string]string{"/metadata/uid": seen.Object.UID, "/metadata/resourceVersion": "17"} {
		test := false
		for _, p := range patch {
			test = test || p.Op == "test" && p.Path == path && p.Value == value
		}
		if !test {
			t.Errorf("the patch does not test that %s is %q: %s", path, value, (*sent)[0])
		}
	}
}

// A StatefulCluster that was deleted and created again has no status yet, although the former one had the same.
func TestAStatusIsWrittenAgainForAnotherObjectOfTheSameName(t *testing.T) {
	c, sent := statusWriter(t)
	seen := observed(false, 1)
	c.statuses.write(t.Context(), c, seen, nil)
	seen.Object.UID = "another"
	if again := c.statuses.write(t.Context(), c, seen, nil); again == 0 && len(*sent) != 2 { // within a second it is only due
		t.Errorf("after %d requests, the status of the new object is neither written nor due", len(*sent))
	}
}

// statusWriter returns a Controller and the bodies of its requests, which an API server accepts.
func statusWriter(t *testing.T) (c *Controller, sent *[]string) {
	t.Helper()
	sent = new([]string)
	client, err := dynamic.NewForConfig(&rest.Config{Host: "http://api", QPS: -1, Transport: recorder{sent}})
	if err != nil {
		t.Fatal(err)
	}
	c = new(world{}).controller(true, freshness.NewLog())
	c.Client, c.DryRun = client, false
	return c, sent
}

// recorder accepts each request and records its body.
type recorder struct{ bodies *[]string }

func (r recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	*r.bodies = append(*r.bodies, string(body))
	return apitest.Answer(http.StatusOK, map[string]any{"kind": "StatefulCluster", "apiVersion": "lockstep.dev/v1alpha1", "metadata": map[string]any{"name": "db"}}), nil
}

// transport answers each request.
type transport func() *http.Response

func (answer transport) RoundTrip(*http.Request) (*http.Response, error) { return answer(), nil }

func TestTheStatusSaysWhatIsMissingAndUntilWhen(t *testing.T) {
	seen, until := observed(false, 3, "a"), time.Date(2026, 11, 29, 12, 0, 0, 5, time.UTC)
	seen.Pods[0].Revision = seen.Current().Name
	paused := plan.Wait{Because: plan.Refusal{Code: reason.ReplacementPaused, Pod: strings.Repeat("a", 300) + "\n", Detail: "x\ny", Until: until}}
	got := statusOf(seen, []plan.Action{paused})
	if missing := 3 - got.AvailableReplicas; got.UnhealthyReplicas != missing || missing < 2 || got.CurrentReplicas != 1 {
		t.Errorf("got %d unhealthy, %d available, %d current pods", got.UnhealthyReplicas, got.AvailableReplicas, got.CurrentReplicas)
	}
	w := got.Waiting
	if w == nil || w.Until == nil || !w.Until.Time.Equal(until.Truncate(time.Second)) || len(w.Pod) > longestName || strings.Contains(w.Message+w.Pod, "\n") {
		t.Errorf("got %+v", w)
	}
}

func TestTheStatusNamesTheTraceOfAnUpdate(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	sampled := plan.RolledGroup{Since: time.Now(), Trace: "00-" + id + "-0123456789abcdef-01"}
	unsampled := plan.RolledGroup{Since: time.Now(), Trace: "00-" + id + "-0123456789abcdef-00"}
	for sentence, tc := range map[string]struct {
		recorded plan.Rollouts
		want     string
	}{
		"no update":                           {plan.Rollouts{}, ""},
		"an update":                           {plan.Rollouts{Current: sampled}, id},
		"the last update":                     {plan.Rollouts{Finished: []plan.RolledGroup{sampled, unsampled}}, id},
		"an update that is not sampled":       {plan.Rollouts{Current: unsampled, Finished: []plan.RolledGroup{sampled}}, ""},
		"an update without tracing":           {plan.Rollouts{Current: plan.RolledGroup{Since: time.Now()}}, ""},
		"the last update, which has no trace": {plan.Rollouts{Finished: []plan.RolledGroup{{Since: time.Now()}, sampled}}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			seen := observed(false, 1, "a")
			seen.Hold.Rollouts = tc.recorded
			if got := statusOf(seen, nil).Trace; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// The spans are exported whether or not the caches suffice for a plan.
func TestTheSpansOfUpdatesAreExported(t *testing.T) {
	w := world{cached: observed(false, 1, "a")}
	w.cached.Hold.Rollouts = plan.Rollouts{Finished: []plan.RolledGroup{{Since: time.Now()}}}
	if err := w.reconcile(t, true, freshness.NewLog()); err != nil {
		t.Fatal(err)
	}
	if len(w.traces.records) != 1 || len(w.traces.records[0].Finished) != 1 {
		t.Errorf("exported %v", w.traces.records)
	}
	if err := w.reconcile(t, false, freshness.NewLog()); err != nil || w.traces.records != nil {
		t.Errorf("error %v, exported %v of a StatefulCluster that is not managed any more", err, w.traces.records)
	}
}

// An autoscaler counts the pods that this selector matches.
func TestTheStatusHasTheWholeSelector(t *testing.T) {
	seen := observed(false, 1, "a")
	seen.Object.Labels, seen.Object.Selector = map[string]string{"app": "db"}, "app=db,tier in (a,b)"
	if got := statusOf(seen, nil).Selector; got != seen.Object.Selector {
		t.Errorf("got %q, want %q", got, seen.Object.Selector)
	}
}
