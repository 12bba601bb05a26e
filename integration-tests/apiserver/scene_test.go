package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

const (
	// patience is how long a test waits for an event that must occur, unless its scene sets another
	// time.
	patience = 2 * time.Minute
	// aWhile is how long a test watches for an event that must not occur.
	aWhile = 1200 * time.Millisecond
	// soon is the maximum duration of a step that waits for no pod and no clock. If an event is
	// missed, the renewal of the Lease reconciles the group after 20 seconds.
	soon = 15 * time.Second
	// byTimer is the maximum delay of an action that a timer triggers. Without the timer, a waiting
	// group is reconciled a minute after its last reconcile.
	byTimer = 25 * time.Second
	// mostSteps limits the length of the history in a failure message.
	mostSteps = 60
)

// oftenAndSoon is for objects whose status changes continuously.
var oftenAndSoon = wait.Backoff{Steps: 50, Duration: 5 * time.Millisecond}

// Requests with default options.
var (
	getOptions    metav1.GetOptions
	listOptions   metav1.ListOptions
	createOptions metav1.CreateOptions
	updateOptions metav1.UpdateOptions
	deleteOptions metav1.DeleteOptions
)

// scene is a namespace that belongs to one test, with an observer and a judge.
type scene struct {
	t        *testing.T
	world    *world
	name     string
	zones    []string // in the order of their creation
	rules    rules
	patience time.Duration // how long to wait for an event that must occur
	witness  *witness
	operator *operator      // the operator that works here
	own      judge.Operator // rights of this scene's own operators; by default they manage only its namespace
}

// managed returns a scene in a namespace that opted in.
func managed(t *testing.T) *scene { t.Helper(); return newScene(t, "", true) }

// unmanaged returns a scene in a namespace that did not opt in. Tests with an operator of their own
// begin with it.
func unmanaged(t *testing.T) *scene { t.Helper(); return newScene(t, "", false) }

// newScene creates the namespace, and judges its history when the test ends.
func newScene(t *testing.T, suffix string, optedIn bool) *scene {
	t.Helper()
	thePulse()
	w := theWorld(t)
	s := &scene{t: t, world: w, name: namespaceName(t.Name()) + suffix, operator: w.operator, patience: patience}
	s.own = judge.Operator{User: user(s.name), Namespaces: []string{s.name}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	if optedIn {
		namespace.Labels = map[string]string{optIn: "true"}
	}
	if _, err := w.admin.CoreV1().Namespaces().Create(t.Context(), namespace, createOptions); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	witness, err := watchNamespace(ctx, w, s.name)
	if err != nil {
		t.Fatal(err)
	}
	s.witness = witness
	t.Cleanup(func() { s.judge(); stop() })
	// Without the account no pod can be created, and the StatefulSet controller backs off.
	s.eventually("the namespace has its service account", func(present) error {
		_, err := w.admin.CoreV1().ServiceAccounts(s.name).Get(t.Context(), "default", getOptions)
		return err
	})
	return s
}

// namespaceName derives the name of a namespace from the name of a test.
func namespaceName(test string) string {
	var b strings.Builder
	wasLower := false
	for _, r := range strings.TrimPrefix(test, "Test") {
		if unicode.IsUpper(r) && wasLower {
			b.WriteByte('-')
		}
		wasLower = unicode.IsLower(r)
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteByte('-')
		}
	}
	name := b.String()
	return fmt.Sprintf("%s-%d", strings.Trim(name[:min(len(name), 50)], "-"), scenes.Add(1))
}

var scenes atomic.Int64 // makes the names of scenes unique

// allPods returns the names of all desired pods of the zones, zone by zone in the order of their
// creation.
func (s *scene) allPods() []string {
	var names []string
	for _, name := range s.zones {
		if set := s.witness.now().sets[name]; set != nil {
			names = append(names, judge.ZoneOf(set).Pods()...)
		}
	}
	return names
}

// create creates zones and waits until they are available.
func (s *scene) create(zones ...*appsv1.StatefulSet) {
	s.t.Helper()
	s.begin(zones...)
	s.settled()
}

// begin creates zones.
func (s *scene) begin(zones ...*appsv1.StatefulSet) {
	s.t.Helper()
	for _, z := range zones {
		made, err := s.world.admin.AppsV1().StatefulSets(s.name).Create(s.t.Context(), z, createOptions)
		if err != nil {
			s.t.Fatal(err)
		}
		s.zones = append(s.zones, z.Name)
		s.received(made)
	}
}

// serve waits until pods are up, and opens their gates if they have any.
func (s *scene) serve(pods ...string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%q serve", pods), func(now present) error {
		var waiting error
		for _, name := range pods {
			p := now.pods[name]
			if p != nil && judge.PodOf(p).Serving() {
				continue
			}
			waiting = fmt.Errorf("%s does not", name)
			if p != nil && len(p.Spec.ReadinessGates) > 0 {
				s.gate(name, corev1.ConditionTrue)
			}
		}
		return waiting
	})
}

// change changes a zone.
func (s *scene) change(name string, options ...option) {
	s.t.Helper()
	sets := s.world.admin.AppsV1().StatefulSets(s.name)
	var changed *appsv1.StatefulSet
	err := retry.RetryOnConflict(oftenAndSoon, func() error {
		set, err := sets.Get(s.t.Context(), name, getOptions)
		if err != nil {
			return err
		}
		for _, change := range options {
			change(set)
		}
		changed, err = sets.Update(s.t.Context(), set, updateOptions)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.received(changed)
}

// changeAll changes all zones, in the order of their creation.
func (s *scene) changeAll(options ...option) {
	s.t.Helper()
	for _, name := range s.zones {
		s.change(name, options...)
	}
}

// changeBackwards changes all zones, the last one first. So a rollout of the first zone begins only
// after the other zones have changed as well.
func (s *scene) changeBackwards(options ...option) {
	s.t.Helper()
	for _, name := range slices.Backward(s.zones) {
		s.change(name, options...)
	}
}

// remove deletes a zone with its pods.
func (s *scene) remove(name string) {
	s.t.Helper()
	background := metav1.DeletePropagationBackground
	err := s.world.admin.AppsV1().StatefulSets(s.name).Delete(s.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		s.t.Fatal(err)
	}
	s.zones = slices.DeleteFunc(s.zones, func(z string) bool { return z == name })
	s.eventually("StatefulSet "+name+" is deleted", func(now present) error {
		if now.sets[name] != nil {
			return errors.New("it is still there")
		}
		return nil
	})
}

// received waits until the observer has received a StatefulSet in this version or a newer
// one.
func (s *scene) received(of *appsv1.StatefulSet) {
	s.t.Helper()
	s.eventually("the observer receives "+of.Name, func(now present) error {
		known := now.sets[of.Name]
		if known == nil || judge.Version(known) < judge.Version(of) {
			return errors.New("not yet")
		}
		return nil
	})
}

// deletePod deletes a pod, like a user.
func (s *scene) deletePod(name string) {
	s.t.Helper()
	if err := s.world.admin.CoreV1().Pods(s.name).Delete(s.t.Context(), name, deleteOptions); err != nil {
		s.t.Fatal(err)
	}
}

// gate opens or closes the readiness gate of a pod.
func (s *scene) gate(pod string, open corev1.ConditionStatus) {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":%q}]}}`, gateCondition, open)
	_, err := s.world.admin.CoreV1().Pods(s.name).Patch(s.t.Context(), pod, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		s.t.Fatal(err)
	}
}

// optsIn sets or removes the label of the namespace.
func (s *scene) optsIn(yes bool) {
	s.t.Helper()
	if yes {
		s.label(optIn, "true")
	} else {
		s.label(optIn, "")
	}
}

// label sets a label of the namespace, or removes it if the value is empty.
func (s *scene) label(name, value string) {
	s.t.Helper()
	text := `null`
	if value != "" {
		text = strconv.Quote(value)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, name, text)
	_, err := s.world.admin.CoreV1().Namespaces().Patch(s.t.Context(), s.name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}

// settled waits until every zone is available on its newest template and the group is free.
func (s *scene) settled() {
	s.t.Helper()
	s.eventually("every zone is available on its newest template, and no Lease is held", func(now present) error {
		for _, name := range s.zones {
			if err := finished(now, name); err != nil {
				return err
			}
		}
		return free(now)
	})
}

// settledSoon is settled for tests in which only lockstep itself can cause a delay.
func (s *scene) settledSoon() {
	s.t.Helper()
	began := time.Now()
	s.settled()
	s.neverIdled(began)
}

// neverIdled fails the test if there was no event for longer than soon since a time. The number of
// events is not limited, and times during which the machine stalled do not count: a slow machine
// needs longer.
func (s *scene) neverIdled(since time.Time) {
	s.t.Helper()
	history, err := s.witness.Events()
	if err != nil {
		s.t.Fatal(err)
	}
	times := []time.Time{since}
	for _, f := range history {
		if f.At.After(since) {
			times = append(times, f.At)
		}
	}
	for i, next := range append(times[1:], time.Now()) {
		if idle := next.Sub(times[i]); idle-thePulse().stalled(times[i], next) > soon {
			s.t.Errorf("no change for %s from %s on, want at most %s\n%s", idle, times[i], soon, s.describe())
		}
	}
}

// finishes waits until one zone is available on its newest template.
func (s *scene) finishes(name string) {
	s.t.Helper()
	s.eventually("zone "+name+" is available on its newest template", func(now present) error { return finished(now, name) })
}

// finished returns the reason why a zone has not reached its goal.
func finished(now present, name string) error {
	set := now.sets[name]
	if set == nil {
		return fmt.Errorf("zone %s does not exist", name)
	}
	status := set.Status
	switch {
	case status.ObservedGeneration < set.Generation:
		return fmt.Errorf("zone %s: generation %d, observed %d", name, set.Generation, status.ObservedGeneration)
	case status.Replicas != *set.Spec.Replicas || status.ReadyReplicas != *set.Spec.Replicas:
		return fmt.Errorf("zone %s: %d pods wanted, %d exist, %d are Ready", name, *set.Spec.Replicas, status.Replicas, status.ReadyReplicas)
	case status.CurrentRevision != status.UpdateRevision:
		return fmt.Errorf("zone %s: current revision %s, update revision %s", name, status.CurrentRevision, status.UpdateRevision)
	}
	for _, pod := range judge.ZoneOf(set).Pods() {
		p := now.pods[pod]
		switch {
		case p == nil:
			return fmt.Errorf("pod %s does not exist", pod)
		case !judge.PodOf(p).Serving():
			return fmt.Errorf("pod %s is not up", pod)
		case p.Labels[appsv1.ControllerRevisionHashLabelKey] != status.UpdateRevision:
			return fmt.Errorf("pod %s has revision %s, %s wanted", pod, p.Labels[appsv1.ControllerRevisionHashLabelKey], status.UpdateRevision)
		}
	}
	return nil
}

// free returns an error if a Lease has a holder or intents.
func free(now present) error {
	for name, l := range now.leases {
		if hold := judge.HoldOf(l); hold.Holder != "" || len(hold.Intents) > 0 {
			return fmt.Errorf("Lease %s is held by %q with %d notes", name, hold.Holder, len(hold.Intents))
		}
	}
	return nil
}

// awaitDeletion waits until operators have deleted a pod.
func (s *scene) awaitDeletion(pod string) {
	s.t.Helper()
	s.eventually("operators have deleted "+pod, func(present) error {
		if all := s.deletions(); !slices.Contains(all, pod) {
			return fmt.Errorf("they deleted %q", all)
		}
		return nil
	})
}

// awaitDeletions waits until operators have deleted n pods in total.
func (s *scene) awaitDeletions(n int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("operators have deleted %d pods", n), func(present) error {
		if all := s.deletions(); len(all) < n {
			return fmt.Errorf("they deleted %q", all)
		}
		return nil
	})
}

// comesUp waits until a pod is ready on the newest template of its zone.
func (s *scene) comesUp(pod string) {
	s.t.Helper()
	zone := pod[:strings.LastIndex(pod, "-")]
	s.eventually(pod+" is Ready on the newest template", func(now present) error {
		p, set := now.pods[pod], now.sets[zone]
		if p == nil || set == nil || !judge.PodOf(p).Serving() {
			return errors.New("it is not up")
		}
		if r := p.Labels[appsv1.ControllerRevisionHashLabelKey]; r != set.Status.UpdateRevision {
			return fmt.Errorf("it has revision %s", r)
		}
		return nil
	})
}

// nothingIsDeleted fails the test if operators delete a pod within aWhile.
func (s *scene) nothingIsDeleted(why string) {
	s.t.Helper()
	before := len(s.disruptions())
	s.stays("no pod is deleted "+why, aWhile, func(present) error {
		if all := s.deletions(); len(all) > before {
			return fmt.Errorf("operators deleted %q", all[before:])
		}
		return nil
	})
}

// lease waits for the Lease of a group and returns it.
func (s *scene) lease(name string) *coordinationv1.Lease {
	s.t.Helper()
	var found *coordinationv1.Lease
	s.eventually("Lease "+name+" exists", func(now present) error {
		if found = now.leases[name]; found == nil {
			return fmt.Errorf("there is %q", sortedKeys(now.leases))
		}
		return nil
	})
	return found
}

// awaitEvent waits for an Event on a StatefulSet.
func (s *scene) awaitEvent(kind, reason, on string) eventsv1.Event {
	s.t.Helper()
	var found eventsv1.Event
	s.eventually(fmt.Sprintf("a %s Event %s on %s", kind, reason, on), func(present) error {
		list, err := s.world.admin.EventsV1().Events(s.name).List(s.t.Context(), listOptions)
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			if e.Type == kind && e.Reason == reason && e.Regarding.Name == on {
				found = e
				return nil
			}
			seen = append(seen, e.Type+" "+e.Reason+" on "+e.Regarding.Name)
		}
		slices.Sort(seen)
		return fmt.Errorf("there is %q", slices.Compact(seen))
	})
	return found
}

// eventually waits until a check passes, and repeats it at every change.
func (s *scene) eventually(what string, check func(present) error) {
	s.t.Helper()
	deadline := time.After(s.patience)
	for {
		now := s.witness.now()
		err := check(now)
		if err == nil {
			return
		}
		select {
		case <-now.changed:
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			s.t.Fatalf("waited %s without success: %s\nlast: %v\n%s", s.patience, what, err, s.describe())
		}
	}
}

// stays repeats a check for some time. It must pass every time.
func (s *scene) stays(what string, d time.Duration, check func(present) error) {
	s.t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(50 * time.Millisecond) {
		if err := check(s.witness.now()); err != nil {
			s.t.Fatalf("not so: %s\nbut: %v\n%s", what, err, s.describe())
		}
		if time.Now().After(end) {
			return
		}
	}
}

// describe returns all information that helps to understand a failure.
func (s *scene) describe() string {
	var b strings.Builder
	history, _ := s.witness.Events()
	fmt.Fprintf(&b, "namespace %s, the last of %d states:\n", s.name, len(history))
	for _, f := range history[max(0, len(history)-mostSteps):] {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	groups := map[string]bool{}
	for _, set := range s.witness.now().sets {
		if z := judge.ZoneOf(set); z.Grouped {
			groups[z.Group] = true
		}
	}
	for _, group := range sortedKeys(groups) {
		_, record := s.operator.get("/debug/groups/" + s.name + "/" + group)
		fmt.Fprintf(&b, "the operator's record of group %q:\n%s\n", group, record)
	}
	fmt.Fprintf(&b, "the operator's last lines:\n%s", lastLines(s.operator.Logs(), `"`+s.name+`"`, 25))
	return b.String()
}
