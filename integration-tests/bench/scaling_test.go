package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// zoneOfSize returns a zone with these numbers of desired and ready replicas.
func zoneOfSize(name string, want, ready int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.StatefulSetSpec{Replicas: &want},
		Status:     appsv1.StatefulSetStatus{Replicas: max(want, ready), ReadyReplicas: ready},
	}
}

func TestFollowTimesEndAtFirstEventWithReplicas(t *testing.T) {
	g := newGroups([]string{"n"}, "r", "g", 1, 2)[0]
	zones := g.zoneNames()
	p := newFollowProgress(followerGroup{group: g, followers: zones[1:]}, 3)
	for i, set := range []*appsv1.StatefulSet{
		zoneOfSize(zones[0], 3, 2), // the leader does not follow
		zoneOfSize(zones[1], 2, 2), // the replicas have not changed yet
		zoneOfSize(zones[2], 3, 2),
		zoneOfSize(zones[2], 3, 3),
		zoneOfSize(zones[1], 3, 2),
		zoneOfSize(zones[0], 3, 3),
		zoneOfSize(zones[1], 3, 3),
	} {
		if p.done() {
			t.Errorf("done before event %d", i)
		}
		p.observe(set, start.Add(time.Duration(i)*time.Second))
	}
	if !p.done() {
		t.Error("not done")
	}
	if got, want := p.since(start), (followTimes{first: 2 * time.Second, last: 4 * time.Second}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestZoneThatLosesPodIsNotAvailable(t *testing.T) {
	g := newGroups([]string{"n"}, "r", "g", 1, 2)[0]
	g.zones = 1
	zone := g.zoneNames()[0]
	p := newFollowProgress(followerGroup{group: g, followers: g.zoneNames()}, 1)
	late := zoneOfSize(zone, 1, 1)
	late.Generation = 2
	for _, set := range []*appsv1.StatefulSet{zoneOfSize(zone, 1, 2), late, zoneOfSize(zone, 1, 0)} {
		if p.observe(set, start); p.done() {
			t.Errorf("done with %+v", set.Status)
		}
	}
	if p.observe(zoneOfSize(zone, 1, 1), start); !p.done() {
		t.Error("not done")
	}
}

func TestFollowSeriesSeparatesDirections(t *testing.T) {
	all := map[string]followSeries{
		floorName:    {{true, 10 * time.Millisecond, 20 * time.Millisecond}, {false, 10 * time.Millisecond, 10 * time.Millisecond}},
		lockstepName: {{true, 20 * time.Millisecond, 30 * time.Millisecond}, {false, 1100 * time.Millisecond, 1200 * time.Millisecond}},
	}
	var got []string
	for _, r := range followRows("changed", all) {
		got = append(got, r.what+": "+r.goal+": "+r.cells[floorName]+", "+r.cells[lockstepName]+" "+string(r.met))
	}
	want := []string{
		"changed, up, p50 / p99 of 1: p99 ≤ 1 s: 20.0 / 20.0 ms, 30.0 / 30.0 ms (1.50) yes",
		"the same down, to the first zone: p99 ≤ 1 s: 10.0 / 10.0 ms, 1100.0 / 1100.0 ms (110.00) no",
		"the same down, to the last one, zone after zone: : 10.0 / 10.0 ms, 1200.0 / 1200.0 ms (120.00) ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTransitionIsExactWithOneCallPerPod(t *testing.T) {
	const post, remove = http.MethodPost, http.MethodDelete
	due := []string{"p-1", "p-2"}
	for sentence, c := range map[string]struct {
		calls []podCall
		want  bool
	}{
		"one call for each":                     {[]podCall{{start, post, "p-2"}, {start, post, "p-1"}}, true},
		"no call":                               {nil, false},
		"no call for one":                       {[]podCall{{start, post, "p-1"}}, false},
		"two calls for one, none for the other": {[]podCall{{start, post, "p-1"}, {start, post, "p-1"}}, false},
		"two calls for one":                     {[]podCall{{start, post, "p-1"}, {start, post, "p-2"}, {start, post, "p-1"}}, false},
		"another method for one":                {[]podCall{{start, post, "p-1"}, {start, remove, "p-2"}}, false},
		"a call to an unaffected pod":           {[]podCall{{start, post, "p-1"}, {start, post, "p-2"}, {start, post, "p-0"}}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := (transition{method: post, pods: due, calls: c.calls}).isExact(); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

func TestDelayedRowsMissGoalWithOneInexactTransition(t *testing.T) {
	one := transition{what: "downscale", method: http.MethodPost, pods: []string{"p-1"}, began: start, leases: 2, calls: []podCall{
		{start.Add(30 * time.Millisecond), http.MethodPost, "p-1"},
	}}
	twice := one
	twice.calls = append(slices.Clone(one.calls), podCall{start.Add(20 * time.Millisecond), http.MethodPost, "p-1"})
	rows := delayedRows([]transition{one, twice}, time.Second)
	if got := rows[0].cells[lockstepName]; got != "1.00 / 2.00" || rows[0].met != missed {
		t.Errorf("got %s, met: %s", got, rows[0].met)
	}
	if rows := delayedRows([]transition{one, one}, time.Second); rows[0].met != met {
		t.Errorf("got %s, met: %s", rows[0].cells[lockstepName], rows[0].met)
	}
	if got := rows[2].cells[lockstepName]; got != "30.0 / 30.0 ms" {
		t.Errorf("last call after %s", got)
	}
}

func TestDelayedDownscaleWithoutNetworkIsReportedAsNotMeasured(t *testing.T) {
	var output strings.Builder
	a := &testbed{bench: &bench{progress: &output, networkErr: errors.New("not supported")}}
	rows, err := a.measureDelayedDownscale(t.Context(), nil)
	if err != nil || len(rows) != 1 || rows[0].met != noGoal {
		t.Errorf("got %v, %v", rows, err)
	}
	if !strings.Contains(output.String(), "NOT MEASURED") || !strings.Contains(output.String(), "not supported") {
		t.Errorf("output %q", output.String())
	}
}

func TestPodServerKeepsTimestampUntilDelete(t *testing.T) {
	r := &podServer{ready: map[string]time.Time{}}
	say := func(method string) string {
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, httptest.NewRequest(method, "http://p-1.pods.n.svc.cluster.local.:8080/leave", http.NoBody))
		return answer.Body.String()
	}
	say(http.MethodPost)
	r.ready["p-1"] = start
	if got := say(http.MethodPost); got != `{"timestamp":1893456000}` {
		t.Errorf("the repeated request returns %s", got)
	}
	say(http.MethodDelete)
	if say(http.MethodPost); r.ready["p-1"].Equal(start) {
		t.Error("it is still prepared as of the first time")
	}
	if got := len(r.since(1)); got != 3 {
		t.Errorf("%d calls after the first", got)
	}
}
