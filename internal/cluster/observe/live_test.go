package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// If the hold is not known, a live read requests it first. It lists the pods of all zones with
// one request if possible, and never lists all pods of the namespace.
func TestRequestsOfALiveRead(t *testing.T) {
	stray := recordedIntent("zone-x", "zone-x-0")
	held := newHold("store", "", stray)
	readHold, listSets, readStray := "get team/leases "+held.Name, "list team/statefulsets rollout-group=store", "get team/pods zone-x-0"
	confirm := listSets // zone-x-0 was deleted, and no StatefulSet wants it
	a, b := newSet("zone-a"), newSet("zone-b")
	differs := newSet("zone-c", func(s *appsv1.StatefulSet) { s.Spec.Selector.MatchLabels["role"] = "store" })
	for sentence, tc := range map[string]struct {
		cached []*appsv1.StatefulSet
		known  bool // the hold is known
		want   []string
	}{
		"the state is unknown":    {want: []string{readHold, listSets, "list team/pods set in (zone-a,zone-b)", readStray, confirm}},
		"the zones are known":     {cached: []*appsv1.StatefulSet{a, b}, want: []string{readHold, listSets, "list team/pods set in (zone-a,zone-b)", readStray, confirm}},
		"the hold is known":       {cached: []*appsv1.StatefulSet{a, b}, known: true, want: []string{listSets, "list team/pods set in (zone-a,zone-b)", readStray, confirm}},
		"a zone is new":           {cached: []*appsv1.StatefulSet{a}, known: true, want: []string{listSets, "list team/pods set=zone-a", "list team/pods set=zone-b", readStray, confirm}},
		"a zone no longer exists": {cached: []*appsv1.StatefulSet{a, b, newSet("zone-c")}, known: true, want: []string{listSets, "list team/pods set in (zone-a,zone-b,zone-c)", readStray, confirm}},
		"a zone selects otherwise": {cached: []*appsv1.StatefulSet{a, b, differs}, known: true, want: []string{
			listSets, "list team/pods set=zone-a", "list team/pods set=zone-b", "list team/pods role=store,set=zone-c", readStray, confirm,
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := newLibrary(a, b, held)
			o := newObserver(t, server.client(t))
			for _, set := range tc.cached {
				show(o, set)
			}
			var err error
			if tc.known {
				_, err = o.LiveUnder(t.Context(), store, group.Hold{Hold: plan.Hold{Exists: true, Intents: []plan.Intent{stray}}})
			} else {
				_, err = o.Live(t.Context(), store)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := server.requests()
			if !tc.known && got[0] != readHold {
				t.Errorf("the hold was not read first: %q", got)
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// raiser increases the replicas of a StatefulSet after each list of pods. It answers a list of
// pods after the list of StatefulSets that is requested at the same time.
type raiser struct {
	library *library
	set     *appsv1.StatefulSet
	raises  int
	times   int // the number of remaining increases

	answered chan struct{} // one for each list of StatefulSets that was answered
}

func newRaiser(set *appsv1.StatefulSet, times int) *raiser {
	return &raiser{library: newLibrary(set), set: set, raises: times, times: times, answered: make(chan struct{}, 2*readsUntilConfirmed)}
}

func (s *raiser) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/statefulsets"):
		defer func() { s.answered <- struct{}{} }()
		return s.library.RoundTrip(r)
	case !strings.HasSuffix(r.URL.Path, "/pods"):
		return s.library.RoundTrip(r) // a pod with an intent
	}
	if <-s.answered; s.times < s.raises {
		<-s.answered // the list that confirmed the previous read
	}
	answer, err := s.library.RoundTrip(r)
	if s.times > 0 {
		s.times--
		*s.set.Spec.Replicas++
	}
	return answer, err
}

func TestALiveReadIsRepeatedIfAStatefulSetWantsADeletedPodAgain(t *testing.T) {
	set := newSet("zone-a", func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(1)) })
	server := newRaiser(set, 1)
	o := newObserver(t, apitest.Client(t, server))
	show(o, set)
	held := group.Hold{Hold: plan.Hold{Exists: true, Holder: "eviction/zone-a", Intents: []plan.Intent{recordedIntent("zone-a", "zone-a-1")}}}

	live, err := o.LiveUnder(t.Context(), store, held)
	if err != nil {
		t.Fatal(err)
	}
	if live.Zones[0].Replicas != 2 || live.IntentStatus(held.Intents[0]) != plan.Open {
		t.Errorf("zone-a has %d replicas and the intent of zone-a-1 is %v, want 2 and open", live.Zones[0].Replicas, live.IntentStatus(held.Intents[0]))
	}
	lists := slices.DeleteFunc(server.library.requests(), func(what string) bool { return !strings.HasPrefix(what, "list team/statefulsets") })
	if len(lists) != 3 { // the read, its confirmation, and the read that shows that the pod is wanted
		t.Errorf("StatefulSets were listed %d times, want 3", len(lists))
	}
}

func TestALiveReadFailsWhenReplicasNeverSettle(t *testing.T) {
	set := newSet("zone-a", func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(1)) })
	server := newRaiser(set, 9)
	o := newObserver(t, apitest.Client(t, server))
	show(o, set)
	var intents []plan.Intent
	for ordinal := 1; ordinal < 9; ordinal++ {
		intents = append(intents, recordedIntent("zone-a", plan.PodName("zone-a", ordinal)))
	}

	_, err := o.LiveUnder(t.Context(), store, group.Hold{Hold: plan.Hold{Exists: true, Holder: "eviction/zone-a", Intents: intents}})
	if err == nil || !strings.Contains(err.Error(), "changed spec.replicas") {
		t.Errorf("got %v, want an error about the change of spec.replicas", err)
	}
}

// slowServer contains no object, and answers slowly.
type slowServer struct{ library *library }

const slowly = 2 * time.Second

func (s slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(slowly):
		return s.library.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// Replacements of all pods of a zone may be late at the same time.
func TestALiveReadOfManyRecordedPodsIsFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held group.Hold
		for i := range plan.MaxIntents {
			held.Intents = append(held.Intents, recordedIntent("zone-a", fmt.Sprint("zone-a-", i)))
		}
		server := slowServer{newLibrary(newSet("zone-a"))}
		began := time.Now()
		if _, err := newObserver(t, apitest.Client(t, server)).LiveUnder(t.Context(), store, held); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 15*slowly {
			t.Errorf("it took %s", took)
		}
	})
}

// A live read must not occupy a worker until the process is considered dead.
func TestALiveReadHasALimitOfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held group.Hold
		for i := range 10 * plan.MaxIntents {
			held.Intents = append(held.Intents, recordedIntent("zone-a", fmt.Sprint("zone-a-", i)))
		}
		server := slowServer{newLibrary(newSet("zone-a"))}
		began := time.Now()
		_, err := newObserver(t, apitest.Client(t, server)).LiveUnder(t.Context(), store, held)
		if took := time.Since(began); took > longestRead || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "\n") {
			t.Errorf("it took %s, and ended with %v; want one error after a minute", took, err)
		}
	})
}

// broken is an API server that makes every client panic.
type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) { panic("oh") }

// The caller of a live read recovers from panics; the goroutines of a live read do not.
func TestAPanicDuringALiveReadReachesItsCaller(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no goroutine panics")
		}
	}()
	_, _ = newObserver(t, apitest.Client(t, broken{})).LiveUnder(t.Context(), store, group.Hold{})
}

func TestALiveReadUnderAKnownHoldShowsThatHold(t *testing.T) {
	known := group.Hold{Hold: plan.Hold{Exists: true, Version: 5, Holder: "rollout/zone-a"}}
	s, err := newObserver(t, newLibrary(newSet("zone-a"), newHold("store", "rollout/zone-b")).client(t)).LiveUnder(t.Context(), store, known)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(known, s.Hold); diff != "" || !s.Live {
		t.Errorf("live: %v; -known +shown:\n%s", s.Live, diff)
	}
}

// Each selector is answered by exactly one question, and a question selects exactly the union of
// its selectors.
func TestRequestsUseTheSelectorsOfTheGroup(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var requested []string
		for range rapid.IntRange(0, 4).Draw(rt, "zones") {
			requested = append(requested, selectorOf(newSet("zone", drawSelector(rt))))
		}
		questions := merge(requested)
		var answered []string
		for _, q := range questions {
			answered = append(answered, q.answers...)
			pod := drawLabels(rt, "pod")
			wanted := slices.ContainsFunc(q.answers, func(selector string) bool { return selects(selector, pod) })
			if selects(q.selector, pod) != wanted {
				rt.Errorf("%s answers %q; pod %v: wanted %v", q.selector, q.answers, pod, wanted)
			}
		}
		slices.Sort(answered)
		if diff := cmp.Diff(slices.Compact(slices.Sorted(slices.Values(requested))), answered); diff != "" {
			rt.Errorf("-requested +answered:\n%s", diff)
		}
	})
}

func drawSelector(t *rapid.T) change[*appsv1.StatefulSet] {
	return func(s *appsv1.StatefulSet) {
		s.Spec.Selector = &metav1.LabelSelector{MatchLabels: drawLabels(t, "selector")}
		if operator := rapid.SampledFrom([]metav1.LabelSelectorOperator{"", "Exists", "DoesNotExist", "In", "NotIn", "Nonsense"}).Draw(t, "operator"); operator != "" {
			e := metav1.LabelSelectorRequirement{Key: "a", Operator: operator}
			if operator == "In" || operator == "NotIn" {
				e.Values = []string{"x", "y"}
			}
			s.Spec.Selector.MatchExpressions = append(s.Spec.Selector.MatchExpressions, e)
		}
	}
}

func drawLabels(t *rapid.T, of string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"", "x", "y", "z"}), 0, 2).Draw(t, of)
}

func selects(selector string, pod labels.Set) bool {
	parsed, err := labels.Parse(selector)
	return err == nil && parsed.Matches(pod)
}
