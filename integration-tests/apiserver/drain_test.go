package apiserver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// kubectl repeats a request 5 seconds after a refusal, so a drain takes about that long for each
// turn of a zone.

func TestSeveralNodesThatCarryThreeZonesAreDrainedAtOnce(t *testing.T) {
	t.Parallel()
	e := evictedUnder(t, judge.Budget{Limit: 2})
	nodes := e.addNodes(3, "all")
	for _, name := range []string{"zone-a", "zone-b", "zone-c"} {
		e.begin(zone(name, 3, e.placedOn("all"), inBudget))
	}
	e.settled()
	drained, before := nodes[:2], e.witness.now()
	for _, node := range drained {
		if pods := before.podsOn(node); len(zonesOf(pods)) < 3 {
			t.Fatalf("node %s carries %q, pods of three zones wanted", node, pods)
		}
	}
	e.drain(drained...)()
	e.settled()
	want := slices.Concat(before.podsOn(drained[0]), before.podsOn(drained[1]))
	e.wantEvicted(want...)
}

func zonesOf(pods []string) []string {
	var zones []string
	for _, pod := range pods {
		zones = append(zones, pod[:strings.LastIndex(pod, "-")])
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// wantEvicted fails the test unless each of these pods was evicted once, and no other pod was.
func (e *drainable) wantEvicted(pods ...string) {
	e.t.Helper()
	got, want := e.evicted(), slices.Sorted(slices.Values(pods))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		e.t.Errorf("evicted were\n  %q, wanted\n  %q\n%s", got, want, e.describe())
	}
}

func TestARolloutAndADrainOfAnotherZoneAlternate(t *testing.T) {
	t.Parallel()
	e := newDrainable(t) // without a budget, rollout-max-unavailable applies, which is 1
	e.guard()
	e.addNodes(1, "a")
	inB := e.addNodes(2, "b")
	e.create(zone("zone-a", 10, e.placedOn("a")), zone("zone-b", 3, e.placedOn("b")))
	before := e.witness.now()
	drained := inB[0]
	if len(before.podsOn(drained)) < 2 {
		drained = inB[1]
	}
	leaving := before.podsOn(drained)
	e.changeAll(version(2), readyAfter(2*short)) // long enough to outlast several attempts of kubectl
	e.awaitDeletion("zone-a-0")
	e.drain(drained)()
	e.settled()
	e.wantEvicted(leaving...)
	e.wantAlternation("zone-a", len(leaving))
}

// wantAlternation fails the test unless a rollout of a zone continued between the evictions in
// another zone, and the evictions did not wait for its end.
func (e *drainable) wantAlternation(zone string, evictions int) {
	e.t.Helper()
	var order []string
	for _, d := range e.departures() {
		switch {
		case d.Evicted && d.WasServing:
			order = append(order, "evicted")
		case d.Zone == zone:
			order = append(order, "rolled")
		}
	}
	first, last := slices.Index(order, "evicted"), len(order)-1
	for last >= 0 && order[last] != "evicted" {
		last--
	}
	between := slices.Contains(order[max(0, first):last+1], "rolled")
	if first < 1 || last == len(order)-1 || evictions > 1 && !between {
		e.t.Errorf("pods were evicted in this order, and should alternate: %q", order)
	}
}

func TestAPodThatARolloutWaitsForIsEvictedWithItsNode(t *testing.T) {
	t.Parallel()
	e := evictedUnder(t, judge.Budget{Limit: 1})
	e.addNodes(2, "a")
	e.addNodes(1, "b")
	e.begin(zone("zone-a", 2, e.placedOn("a"), inBudget, gated()), zone("zone-b", 1, e.placedOn("b"), inBudget))
	e.opens("zone-a-0")
	e.opens("zone-a-1")
	e.settled()
	e.changeAll(version(2))
	e.awaitDeletion("zone-a-0")
	e.isBroken("zone-a-0") // because its gate is closed
	node := e.witness.now().pods["zone-a-0"].Spec.NodeName
	drained := e.drain(node)
	e.eventually("zone-a-0 is on the other node", func(now present) error {
		p := now.pods["zone-a-0"]
		if p == nil || p.Spec.NodeName == "" || p.Spec.NodeName == node {
			return errors.New("it is not")
		}
		return nil
	})
	e.nothingIsDeleted("while zone-a-0 is not Ready")
	e.opens("zone-a-0")
	e.changeAll(version(3), withoutGate)
	drained()
	e.settled()
	if all := e.evicted(); slices.Contains(all, "zone-a-0") {
		t.Errorf("zone-a-0 served when it was evicted: %q", all)
	}
}

func withoutGate(s *appsv1.StatefulSet) { s.Spec.Template.Spec.ReadinessGates = nil }

// opens waits for a running pod and opens its gate.
func (s *scene) opens(pod string) {
	s.t.Helper()
	s.isBroken(pod)
	s.gate(pod, corev1.ConditionTrue)
}
