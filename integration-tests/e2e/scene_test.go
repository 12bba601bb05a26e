package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// grace is how long an operator may not know about writes of other clients. It is the same as
// without real nodes.
const grace = judge.DefaultGrace

// The namespaces of the suite have this prefix, and a label by which they are found even if the run
// that created them was killed.
const (
	namePrefix = "e2e-"
	maker      = "lockstep.test/made-by"
	madeByUs   = maker + "=e2e"
)

// scene is a namespace of a test.
type scene struct {
	*world

	t       *testing.T
	name    string
	zones   []string
	witness *judge.Observer
	budgets []judge.Budget
	by      guarding // whether lockstep judges evictions and downscales of the namespace

	disruptions int // minimum number of disruptions that the judge must find
}

// scene creates a namespace that opted in, with the Service that names its members. When the test
// ends, it judges the history, with at least this number of disruptions, and deletes the namespace.
func (w *world) scene(t *testing.T, name string, disruptions int) *scene {
	t.Helper()
	s := &scene{world: w, t: t, name: namePrefix + name, by: guarded, disruptions: disruptions}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name, Labels: map[string]string{optIn: "true", maker: "e2e"}}}
	if _, err := w.admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		stop()
		t.Fatal(err) // another run owns the namespace of this name
	}
	t.Cleanup(s.remove)
	var err error
	if s.witness, err = judge.Watch(ctx, w.admin, nil, s.name); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.judge()
		stop()
	})
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": group}, Ports: []corev1.ServicePort{{Name: "http", Port: port}},
		},
	}
	if _, err := w.admin.CoreV1().Services(s.name).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// remove deletes the namespace and waits until the deletion has finished, so that it does
// not affect the next test.
func (s *scene) remove() {
	s.t.Helper()
	s.logState()
	if err := s.try(context.WithoutCancel(s.t.Context()), "delete", "namespace", s.name, "--timeout="+patience.String()); err != nil {
		s.t.Error(err)
	}
}

// create creates zones and waits until they are available.
func (s *scene) create(zones ...*appsv1.StatefulSet) {
	s.t.Helper()
	for _, z := range zones {
		if _, err := s.admin.AppsV1().StatefulSets(s.name).Create(s.t.Context(), z, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
		s.zones = append(s.zones, z.Name)
	}
	s.settled()
}

// change changes all zones.
func (s *scene) change(options ...option) {
	s.t.Helper()
	s.changeOnly(s.zones, options...)
}

func (s *scene) changeOnly(zones []string, options ...option) {
	s.t.Helper()
	sets := s.admin.AppsV1().StatefulSets(s.name)
	for _, name := range zones {
		if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			set, err := sets.Get(s.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, change := range options {
				change(set)
			}
			_, err = sets.Update(s.t.Context(), set, metav1.UpdateOptions{})
			return err
		}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// settled waits until every zone is available on its newest template and the group is free.
func (s *scene) settled() {
	s.t.Helper()
	eventually(s.t, "every zone of "+s.name+" is available on its newest template, and no Lease is held", func() error {
		for _, name := range s.zones {
			set, err := s.admin.AppsV1().StatefulSets(s.name).Get(s.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := unfinished(set); err != nil {
				return err
			}
		}
		return s.free()
	})
}

// unfinished returns the reason why a zone has not reached its goal.
func unfinished(set *appsv1.StatefulSet) error {
	want, status := *set.Spec.Replicas, set.Status
	switch {
	case status.ObservedGeneration < set.Generation:
		return fmt.Errorf("zone %s: generation %d, observed %d", set.Name, set.Generation, status.ObservedGeneration)
	case status.Replicas != want || status.AvailableReplicas != want || status.UpdatedReplicas != want:
		return fmt.Errorf("zone %s: %d pods wanted, %d exist, %d are available, %d are up to date", set.Name, want, status.Replicas, status.AvailableReplicas, status.UpdatedReplicas)
	case status.CurrentRevision != status.UpdateRevision:
		return fmt.Errorf("zone %s: current revision %s, update revision %s", set.Name, status.CurrentRevision, status.UpdateRevision)
	}
	return nil
}

// free returns an error if a Lease has a holder or intents.
func (s *scene) free() error {
	leases, err := s.admin.CoordinationV1().Leases(s.name).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, l := range leases.Items {
		if hold := judge.HoldOf(&l); hold != nil && (hold.Holder != "" || len(hold.Intents) > 0) {
			return fmt.Errorf("Lease %s is held by %q with %d notes", l.Name, hold.Holder, len(hold.Intents))
		}
	}
	return nil
}

// judge fails the test if an event occurred that must never occur, or if the judge missed an
// expected one.
func (s *scene) judge() {
	s.t.Helper()
	if s.audit == nil {
		s.t.Log("NOT JUDGED: the audit log of this cluster is not known")
		return
	}
	history := s.history()
	requests, err := s.audit.RequestsIn(s.name) // read after the events that they caused
	if err != nil {
		s.t.Fatal(err)
	}
	for _, objection := range objections(history, requests, s.by, s.disruptions, s.budgets...) {
		s.t.Error(objection)
	}
}

// history returns all events of the scene that the API server has sent so far.
func (s *scene) history() []judge.Event {
	s.t.Helper()
	history, err := s.witness.Events()
	if err != nil {
		s.t.Fatal(err)
	}
	return history
}

// departures returns the names of the pods that terminated or are about to, in order.
func (s *scene) departures() []string {
	s.t.Helper()
	var names []string
	known := map[string]bool{}
	for _, f := range s.history() {
		if p := f.Pod; p != nil && (p.Terminating || p.Deleted) && !known[p.UID] {
			known[p.UID] = true
			names = append(names, p.Name)
		}
	}
	return names
}

// wantDepartures fails the test unless this number of pods have terminated.
func (s *scene) wantDepartures(pods int) {
	s.t.Helper()
	if names := s.departures(); len(names) != pods {
		s.t.Errorf("%d pods terminated, %d wanted: %s", len(names), pods, strings.Join(names, ", "))
	}
}

// staysAtDepartures fails the test if more pods than this number terminate within a time.
func (s *scene) staysAtDepartures(pods int) {
	s.t.Helper()
	const aWhile = 5 * time.Second
	stays(s.t, fmt.Sprintf("no more than %d pods terminate", pods), aWhile, func() error {
		if names := s.departures(); len(names) > pods {
			return fmt.Errorf("%d terminated: %s", len(names), strings.Join(names, ", "))
		}
		return nil
	})
	s.wantDepartures(pods)
}

// wantUnderway fails the test unless fewer than all pods have terminated, so that the
// rollout is still in progress.
func (s *scene) wantUnderway(all int) {
	s.t.Helper()
	if names := s.departures(); len(names) >= all {
		s.t.Fatalf("all %d pods have terminated: it is no longer the middle of the rollout", len(names))
	}
}

// awaitDepartures waits until this number of pods have terminated.
func (s *scene) awaitDepartures(pods int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d pods have terminated", pods), func() error {
		if names := s.departures(); len(names) < pods {
			return fmt.Errorf("%d have", len(names))
		}
		return nil
	})
}
