package apiserver_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// defaultGrace is the time after which the judge counts pods that break by themselves.
const defaultGrace = judge.DefaultGrace

// rules are the rules that may differ between tests.
type rules struct {
	grace     time.Duration // how long the operator may not know about writes of other clients; zero: defaultGrace
	unordered bool          // the test itself changes the order of zones or pods
	guarded   bool          // downscales go through admission
	evicting  bool          // evictions go through admission
	unasked   bool          // pods are deleted without a request for each, because their namespace is deleted
	contested bool          // other clients delete pods that an operator has recorded
	budgets   []judge.Budget
	holes     time.Duration // how long a StatefulCluster may lack a pod that the API server does not refuse; zero: not judged
}

// user returns the user name of the operator of a namespace.
func user(namespace string) string { return "system:serviceaccount:" + namespace + ":" + account }

// byOperator reports whether a user is an operator.
func byOperator(user string) bool { return strings.HasSuffix(user, ":"+account) }

// operators returns all operators that may work in the scene: the shared one and the scene's own.
func (s *scene) operators() []judge.Operator {
	return []judge.Operator{
		{User: user(home), Selector: labels.SelectorFromSet(labels.Set{optIn: "true"}), LeadershipNamespace: home},
		s.own,
	}
}

// judge fails the test if an event occurred that must never occur, or if the judge missed an
// expected one. It runs at the end of the test, when the history is complete.
func (s *scene) judge() {
	s.t.Helper()
	history, requests, err := s.evidence()
	if err != nil {
		s.t.Errorf("the judge cannot judge: %v", err)
	}
	if wrong := append(s.objections(history, requests), s.otherWrites()...); len(wrong) > 0 {
		s.t.Errorf("guarantees were violated:\n  %s\n%s", strings.Join(wrong, "\n  "), s.describe())
	}
}

func (s *scene) objections(history []judge.Event, requests []judge.Request) []string {
	verdict := s.try(history, requests)
	var wrong []string
	for _, v := range verdict.Violations {
		wrong = append(wrong, v.String())
	}
	if !s.rules.unordered {
		wrong = append(wrong, judge.OrderViolations(verdict.Disruptions)...)
	}
	if !s.rules.unasked {
		wrong = append(wrong, verdict.Unexplained...)
	}
	if !s.rules.contested {
		wrong = append(wrong, unattributed(history, verdict.Disruptions)...)
	}
	return wrong
}

// unattributed returns the pods that terminated while the Lease of a rollout recorded them
// and that no operator has deleted, according to the judge. The judge then knows of no
// disruption by lockstep, and finds no violation.
func unattributed(history []judge.Event, disruptions []judge.Disruption) []string {
	byVersion := func(a, b judge.Event) int { return cmp.Compare(a.Version, b.Version) }
	notes, left := map[string][]judge.PodIntent{}, map[string]bool{} // by group, by UID
	for _, d := range disruptions {
		left[d.UID] = true
	}
	var wrong []string
	for _, f := range slices.SortedStableFunc(slices.Values(history), byVersion) {
		switch p := f.Pod; {
		case f.Hold != nil && !f.Hold.Deleted && strings.HasPrefix(f.Hold.Holder, "rollout/"):
			notes[f.Hold.Group] = f.Hold.Intents
		case f.Hold != nil:
			delete(notes, f.Hold.Group)
		case p != nil && (p.Terminating || p.Deleted) && !left[p.UID]:
			left[p.UID] = true
			if slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(notes))...), func(n judge.PodIntent) bool { return n.UID == p.UID }) {
				wrong = append(wrong, fmt.Sprintf("%s: %s terminated as an operator had recorded, and no operator deleted it", f.Namespace, p.Name))
			}
		}
	}
	return wrong
}

// otherWrites returns the writes of operators of other scenes.
func (s *scene) otherWrites() []string {
	var wrong []string
	for _, r := range s.requests() {
		known := slices.ContainsFunc(s.operators(), func(o judge.Operator) bool { return o.User == r.User })
		if byOperator(r.User) && r.Writes() && !known {
			wrong = append(wrong, "an operator from elsewhere: "+r.String())
		}
	}
	return wrong
}

func (s *scene) verdict() (judge.Verdict, error) {
	history, requests, err := s.evidence()
	if err != nil {
		return judge.Verdict{}, err
	}
	return s.try(history, requests), nil
}

// evidence returns all events and all requests so far.
func (s *scene) evidence() (history []judge.Event, requests []judge.Request, err error) {
	if history, err = s.witness.Events(); err != nil {
		return nil, nil, err
	}
	requests, err = s.world.audit.RequestsIn(s.name)
	return history, requests, err
}

func (s *scene) try(history []judge.Event, requests []judge.Request) judge.Verdict {
	return judge.Verify(history, requests, judge.Rules{
		Operators: s.operators(), Grace: s.rules.grace,
		DownscaleWebhook: s.rules.guarded, EvictionWebhook: s.rules.evicting, Budgets: s.rules.budgets, HoleLimit: s.rules.holes,
	})
}

// disruptions returns the pods that operators have deleted so far, in order.
func (s *scene) disruptions() []judge.Disruption {
	s.t.Helper()
	return slices.DeleteFunc(s.departures(), func(d judge.Disruption) bool { return d.Evicted })
}

// departures returns the pods that operators have deleted so far, in order. If evictions are
// judged, it also returns the evicted pods.
func (s *scene) departures() []judge.Disruption {
	s.t.Helper()
	verdict, err := s.verdict()
	if err != nil {
		s.t.Fatal(err)
	}
	return verdict.Disruptions
}

// deletions returns the names of the pods that operators deleted so far, in order.
func (s *scene) deletions() []string {
	s.t.Helper()
	var names []string
	for _, d := range s.disruptions() {
		names = append(names, d.Pod)
	}
	return names
}

// wantDeletions fails the test unless operators made exactly these deletions, in this order.
func (s *scene) wantDeletions(pods ...string) {
	s.t.Helper()
	if got := s.deletions(); !slices.Equal(got, pods) {
		s.t.Errorf("operators deleted\n  %q, wanted\n  %q\n%s", got, pods, s.describe())
	}
}

// wantEachOnce fails the test unless operators deleted each pod of all zones exactly once.
func (s *scene) wantEachOnce() {
	s.t.Helper()
	want := s.allPods()
	got := s.deletions()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Errorf("operators deleted\n  %q, wanted each once:\n  %q\n%s", got, want, s.describe())
	}
}

// requests returns the requests in the scene's namespace so far.
func (s *scene) requests() []judge.Request {
	s.t.Helper()
	requests, err := s.world.audit.RequestsIn(s.name)
	if err != nil {
		s.t.Fatal(err)
	}
	return requests
}

// writesOf returns the writes of an operator to the scene's namespace since a time.
func (s *scene) writesOf(user string, from time.Time) []judge.Request {
	s.t.Helper()
	return slices.DeleteFunc(s.requests(), func(r judge.Request) bool {
		return r.User != user || !r.Writes() || r.At.Before(from)
	})
}

func TestEverySceneIsJudged(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2))
	s.settled()
	verdict, err := s.verdict()
	if err != nil || len(verdict.Disruptions) != 4 || len(verdict.Violations) > 0 {
		t.Fatalf("%d disruptions, want 4: %+v, %v", len(verdict.Disruptions), verdict, err)
	}
	// If the operator should not have touched the namespace, a correct rollout is a violation.
	facts, err := s.witness.Events()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := judge.Rules{Operators: []judge.Operator{{User: user(home), Namespaces: []string{"elsewhere"}}}}
	strict := judge.Verify(facts, s.requests(), elsewhere).Violations
	if len(strict) < len(verdict.Disruptions) || strict[0].Guarantee != 8 {
		t.Errorf("for an operator of another namespace: %v", strict)
	}
	// The judge must not ignore a disruption that no client, or another client, requested.
	unasked := strings.Join(s.objections(facts, nil), "\n")
	for _, d := range verdict.Disruptions {
		if strings.Count(unasked, " "+d.Pod+" ") < 2 { // neither explained nor by the recorded operator
			t.Errorf("of %s, without requests: %s", d.Pod, unasked)
		}
	}
	elses := s.requests()
	for i := range elses {
		elses[i].User = "somebody"
	}
	if got := s.objections(facts, elses); len(got) != 4 {
		t.Errorf("of requests of another user: %q", got)
	}
	unheld := slices.DeleteFunc(facts, func(f judge.Event) bool { return f.Hold != nil })
	found := judge.Verify(unheld, s.requests(), judge.Rules{Operators: s.operators()}).Violations
	if len(found) != 4 || found[0].Guarantee != 1 {
		t.Errorf("without its Leases: %v", found)
	}
}
