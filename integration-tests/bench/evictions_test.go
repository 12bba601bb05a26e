package main

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEvictionReviewIsThatOfAPIServer(t *testing.T) {
	q, err := newEvictionReview(&policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: "n", Name: "zone-a-0"},
		DeleteOptions: metav1.NewPreconditionDeleteOptions("uid-of-pod"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(q.withUID("a-uid"), &review); err != nil {
		t.Fatal(err)
	}
	var requested policyv1.Eviction
	r := review.Request
	if err := json.Unmarshal(r.Object.Raw, &requested); err != nil {
		t.Fatal(err)
	}
	if q.path != "/admission/pod-eviction" || r.UID != "a-uid" || r.Operation != admissionv1.Create || r.Resource.Resource != "pods" || r.SubResource != "eviction" {
		t.Errorf("%s is evicted for %s %+v/%s of %s", q.path, r.Operation, r.Resource, r.SubResource, r.UID)
	}
	if r.Namespace != "n" || r.Name != "zone-a-0" || *requested.DeleteOptions.Preconditions.UID != "uid-of-pod" || *r.DryRun {
		t.Errorf("of pod %s/%s, dry run %t, under %+v", r.Namespace, r.Name, *r.DryRun, requested.DeleteOptions)
	}
}

func TestHandlerRow(t *testing.T) {
	bounds := []float64{0.0025, 0.005, 0.01, math.Inf(1)}
	for cell, tc := range map[string]struct {
		counts []float64
		want   verdict
	}{
		"≤ 2.5 ms":  {[]float64{100, 100, 100, 100}, met},
		"≤ 5 ms":    {[]float64{98, 99, 99, 100}, met},
		"≤ 10 ms":   {[]float64{98, 98, 99, 100}, missed},
		"≤ +Inf ms": {[]float64{98, 98, 98, 100}, missed},
		"≤ 0 ms":    {nil, missed},
	} {
		b := buckets{counts: tc.counts, bounds: bounds[:len(tc.counts)]}
		if r := handlerRow(b); r.cells[lockstepName] != cell || r.met != tc.want {
			t.Errorf("got %q %q, want %q %q", r.cells[lockstepName], r.met, cell, tc.want)
		}
	}
}

// twoGrants are two grants that take a second each. The second one begins after two seconds.
func twoGrants(requests ...request) grants {
	g := grants{took: map[string][]time.Duration{}, requests: requests}
	for i := range 2 {
		began := start.Add(time.Duration(i) * 2 * time.Second)
		g.add(lockstepName, span{began, began.Add(time.Second)})
		g.add(floorName, span{began, began.Add(400 * time.Millisecond)})
		g.add(bareUpdate, span{began, began.Add(300 * time.Millisecond)})
	}
	return g
}

func TestGrantOverheadIsComparedWithLeaseUpdate(t *testing.T) {
	rows := twoGrants().rows("granted", 0, 2)
	if r := rows[0]; r.what != "granted, p50 / p99 of 2" || r.cells[floorName] != "400.0 / 400.0 ms" || r.cells[lockstepName] != "1000.0 / 1000.0 ms (2.50, 2.50 to 2.50) / (2.50, 2.50 to 2.50)" {
		t.Errorf("got %+v", r)
	}
	if r := rows[1]; r.cells[floorName] != "300.0 ms" || r.cells[lockstepName] != "600.0 ms (2.00, 2.00 to 2.00)" || r.met != met {
		t.Errorf("got %+v", r)
	}
	slow := twoGrants()
	slow.took[lockstepName] = []time.Duration{1001 * time.Millisecond, 1001 * time.Millisecond}
	if r := slow.overheadRow(true, 1); r.met != missed {
		t.Errorf("got %+v", r)
	}
	if r := slow.overheadRow(false, 1); r.met != noGoal || r.goal != "" {
		t.Errorf("got %+v", r)
	}
}

func TestGrantRequestsAreThoseDuringEvictions(t *testing.T) {
	at := func(d time.Duration, verb string) request {
		return request{at: start.Add(d), verb: verb, namespace: "n"}
	}
	writes := []request{at(500*time.Millisecond, "update"), at(2500*time.Millisecond, "update")}
	status := at(time.Second, "patch")
	status.resource = "zoneawarepoddisruptionbudgets/status"
	shown := status
	shown.resource = "rolloutgroups/status"
	for sentence, tc := range map[string]struct {
		more  []request
		reads int
		cell  string
		want  verdict
	}{
		"one write each":         {nil, 0, "0.00 reads, 1.00 writes", met},
		"events in between":      {[]request{at(1500*time.Millisecond, "get")}, 0, "0.00 reads, 1.00 writes", met},
		"an unexpected read":     {[]request{at(time.Second, "get")}, 0, "0.50 reads, 1.00 writes", missed},
		"a read":                 {[]request{at(0, "list"), at(2*time.Second, "get")}, 1, "1.00 reads, 1.00 writes", met},
		"the status of a budget": {[]request{status}, 0, "0.00 reads, 1.00 writes", met},
		"the status of a group":  {[]request{shown}, 0, "0.00 reads, 1.00 writes", met},
		"a second write":         {[]request{at(2*time.Second, "update")}, 1, "0.00 reads, 1.50 writes", missed},
	} {
		r := twoGrants(slices.Concat(writes, tc.more)...).requestsRow(tc.reads)
		if r.cells[lockstepName] != tc.cell || r.met != tc.want {
			t.Errorf("%s: %s %q, want %s %q", sentence, r.cells[lockstepName], r.met, tc.cell, tc.want)
		}
	}
	if r := twoGrants().requestsRow(0); r.met != missed {
		t.Errorf("no write at all: %+v", r)
	}
}

func TestEachPodOfHeldGroupsIsEvictedOnce(t *testing.T) {
	s := newEvictionSetup(evictionSizes{pods: 5000, joins: 2}, []string{"refusing", "granting"}, "floor")
	if s.unavailable.size() != 300 || s.held.size() != 300 || s.largeUnavailable.size() != 4998 {
		t.Errorf("groups of %d, %d and %d pods refuse", s.unavailable.size(), s.held.size(), s.largeUnavailable.size())
	}
	var got, zones []podName
	for turn := range 3 {
		got = append(got, podByPod(s.heldGroups, turn)[lockstepName])
		zones = append(zones, zoneByZone(s.freeGroups, turn)[floorName])
	}
	if want := []podName{{"granting", "slow-0-zone-a-0"}, {"granting", "slow-0-zone-a-1"}, {"granting", "slow-0-zone-a-2"}}; !slices.Equal(got, want) {
		t.Errorf("under a hold: %v, want %v", got, want)
	}
	if want := []podName{{"floor", "fast-0-zone-a-0"}, {"floor", "fast-0-zone-b-0"}, {"floor", "fast-0-zone-c-0"}}; !slices.Equal(zones, want) {
		t.Errorf("that take the hold: %v, want %v", zones, want)
	}
	if s.heldGroups[lockstepName].pods < len(got) {
		t.Errorf("there are %d pods in the zone", s.heldGroups[lockstepName].pods)
	}
}
