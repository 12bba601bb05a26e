package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// guarding is whether downscales and evictions go through admission.
type guarding bool

const guarded, unguarded guarding = true, false

// holeLimit is how long a StatefulCluster may lack a pod. Another process needs less to become the leader.
const holeLimit = 40 * time.Second

// objections returns the violations in a history. If the judge cannot attribute
// disruptions, it finds no violation. So each pod that terminated must have been requested
// to, and there must be at least this number of disruptions.
func objections(history []judge.Event, requests []judge.Request, by guarding, disruptions int, budgets ...judge.Budget) []string {
	verdict := judge.Verify(history, requests, judge.Rules{
		Operators: operators(), Grace: grace, DownscaleWebhook: bool(by), EvictionWebhook: bool(by), Budgets: budgets,
		HoleLimit: holeLimit,
	})
	var wrong []string
	for _, v := range verdict.Violations {
		wrong = append(wrong, "guarantees were violated: "+v.String())
	}
	for _, departure := range verdict.Unexplained {
		wrong = append(wrong, "the judge has not observed all requests: "+departure)
	}
	if n := len(verdict.Disruptions) + len(verdict.PoolDisruptions); n < disruptions {
		wrong = append(wrong, fmt.Sprintf("the judge saw %d disruptions, %d wanted", n, disruptions))
	}
	return wrong
}

func TestTheJudgeReportsIncompleteInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change      func(*judge.Request)
		disruptions int
		want        []string
	}{
		"complete":                {func(*judge.Request) {}, 1, nil},
		"a disruption is missing": {func(*judge.Request) {}, 2, []string{"the judge saw 1 disruptions, 2 wanted"}},
		"it is taken for another": {func(r *judge.Request) { r.User = "another user" }, 1, []string{"the judge saw 0 disruptions, 1 wanted"}},
		"without a request": {func(r *judge.Request) { r.Name = "" }, 1, []string{
			"the judge has not observed all requests", "the judge saw 0 disruptions, 1 wanted",
		}},
		"it was not allowed": {func(r *judge.Request) { r.RequiredVersion-- }, 1, []string{"guarantees were violated: guarantee 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history, request := aDisruption()
			test.change(&request)
			got := objections(history, []judge.Request{request}, guarded, test.disruptions)
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// aDisruption returns a correct step of a rollout.
func aDisruption() ([]judge.Event, judge.Request) {
	began := time.Unix(0, 0)
	pod := judge.Pod{Name: "store-zone-a-0", UID: "p", Owner: "a", Revision: "1", Ready: true, ReadySince: began}
	leaving := pod
	leaving.Terminating = true
	history := []judge.Event{
		{NamespaceState: &judge.NamespaceState{Labels: map[string]string{optIn: "true"}}},
		{Zone: &judge.Zone{Name: "store-zone-a", UID: "a", Group: group, Grouped: true, Replicas: 1, MaxUnavailable: 1, OnDelete: true, Revision: "2"}},
		{Pod: &pod},
		{Hold: &judge.Hold{Group: group, Holder: "rollout/store-zone-a", Intents: []judge.PodIntent{{Pod: pod.Name, UID: pod.UID, Version: 3}}}},
		{Pod: &leaving},
	}
	for i := range history {
		history[i].Version, history[i].Namespace = uint64(i+1), namePrefix+"planted"
		history[i].At = began.Add(time.Duration(i) * time.Minute)
	}
	requested := history[4].At.Add(-time.Millisecond)
	return history, judge.Request{
		At: requested, Ended: requested.Add(2 * time.Millisecond), User: user, Verb: "delete", Resource: "pods", Namespace: namePrefix + "planted", Name: pod.Name,
		Code: 200, UID: pod.UID, RequiredUID: pod.UID, RequiredVersion: 3,
	}
}
