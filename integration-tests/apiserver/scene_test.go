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
	// patience is how long a test waits for what must happen, unless its scene says else.
	patience = 2 * time.Minute
	// aWhile is how long a test looks at what must not happen.
	aWhile = 1200 * time.Millisecond
	// soon is how long a step may take that no pod and no clock holds up. Where
	// an event is missed, the renewal of the Lease comes to help after 20 seconds.
	soon = 15 * time.Second
	// byTimer is how late may come what a timer is set for. Where the timer is forgotten,
	// a group that waits is looked at again a minute after the last look.
	byTimer = 25 * time.Second
	// mostSteps bounds what a failure tells of the history.
	mostSteps = 60
)

// oftenAndSoon suits objects whose status changes all the time.
var oftenAndSoon = wait.Backoff{Steps: 50, Duration: 5 * time.Millisecond}

// Requests without wishes.
var (
	getOptions    metav1.GetOptions
	listOptions   metav1.ListOptions
	createOptions metav1.CreateOptions
	updateOptions metav1.UpdateOptions
	deleteOptions metav1.DeleteOptions
)

// scene is a namespace that belongs to one test, with a witness and a judge.
type scene struct {
	t        *testing.T
	world    *world
	name     string
	zones    []string // in the order in which they were made
	rules    rules
	patience time.Duration // how long to wait for what must happen
	witness  *witness
	operator *operator      // the one at work here
	own      judge.Operator // what operators of this scene's own may do; by default they manage its namespace alone
}

// managed is a scene in a namespace that opted in.
func managed(t *testing.T) *scene { t.Helper(); return newScene(t, "", true) }

// unmanaged is a scene in a namespace that did not. Tests with an operator of
// their own begin with it.
func unmanaged(t *testing.T) *scene { t.Helper(); return newScene(t, "", false) }

// newScene makes the namespace and judges what happened there when the test ends.
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
	witness, err := watchNamespace(ctx, w.admin, s.name)
	if err != nil {
		t.Fatal(err)
	}
	s.witness = witness
	t.Cleanup(func() { s.judge(); stop() })
	// Without it no pod can be made, and the StatefulSet controller backs off.
	s.eventually("the namespace has its service account", func(present) error {
		_, err := w.admin.CoreV1().ServiceAccounts(s.name).Get(t.Context(), "default", getOptions)
		return err
	})
	return s
}

// namespaceName makes the name of a namespace from that of a test.
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

var scenes atomic.Int64 // makes their names unique

// allPods returns the names of all pods that the zones ask for, zone by zone in
// the order in which they were made.
func (s *scene) allPods() []string {
	var names []string
	for _, name := range s.zones {
		if set := s.witness.now().sets[name]; set != nil {
			names = append(names, judge.ZoneOf(set).Pods()...)
		}
	}
	return names
}

// create makes zones and waits until they are whole.
func (s *scene) create(zones ...*appsv1.StatefulSet) {
	s.t.Helper()
	s.begin(zones...)
	s.settled()
}

// begin makes zones.
func (s *scene) begin(zones ...*appsv1.StatefulSet) {
	s.t.Helper()
	for _, z := range zones {
		made, err := s.world.admin.AppsV1().StatefulSets(s.name).Create(s.t.Context(), z, createOptions)
		if err != nil {
			s.t.Fatal(err)
		}
		s.zones = append(s.zones, z.Name)
		s.heard(made)
	}
}

// serve waits until pods are up, and opens the gates of those that have one.
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
	s.heard(changed)
}

// changeAll changes all zones, in the order in which they were made.
func (s *scene) changeAll(options ...option) {
	s.t.Helper()
	for _, name := range s.zones {
		s.change(name, options...)
	}
}

// changeBackwards changes all zones, the last one first: so whoever is rolled goes on
// only once the others have changed as well.
func (s *scene) changeBackwards(options ...option) {
	s.t.Helper()
	for _, name := range slices.Backward(s.zones) {
		s.change(name, options...)
	}
}

// remove deletes a zone; its pods go with it.
func (s *scene) remove(name string) {
	s.t.Helper()
	background := metav1.DeletePropagationBackground
	err := s.world.admin.AppsV1().StatefulSets(s.name).Delete(s.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		s.t.Fatal(err)
	}
	s.zones = slices.DeleteFunc(s.zones, func(z string) bool { return z == name })
	s.eventually("StatefulSet "+name+" is gone", func(now present) error {
		if now.sets[name] != nil {
			return errors.New("it is still there")
		}
		return nil
	})
}

// heard waits until the witness knows a StatefulSet at least as it was answered.
func (s *scene) heard(of *appsv1.StatefulSet) {
	s.t.Helper()
	s.eventually("the witness hears of "+of.Name, func(now present) error {
		known := now.sets[of.Name]
		if known == nil || judge.Version(known) < judge.Version(of) {
			return errors.New("not yet")
		}
		return nil
	})
}

// deletePod takes a pod down as a drain or a user would.
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

// label sets a label of the namespace, or removes it when the value is empty.
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

// settled waits until every zone is whole on its newest template and the group
// is free.
func (s *scene) settled() {
	s.t.Helper()
	s.eventually("every zone is whole on its newest template, and no Lease is held", func(now present) error {
		for _, name := range s.zones {
			if err := finished(now, name); err != nil {
				return err
			}
		}
		return free(now)
	})
}

// settledSoon is settled where nothing but lockstep itself could cause a delay.
func (s *scene) settledSoon() {
	s.t.Helper()
	began := time.Now()
	s.settled()
	s.neverIdled(began)
}

// neverIdled asks that from a moment until now one thing followed another. However
// many there are: a slow machine may take its time for each, and stand still in between.
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
		if idle := next.Sub(times[i]); idle-thePulse().stood(times[i], next) > soon {
			s.t.Errorf("nothing happened for %s from %s on, at most %s wanted\n%s", idle, times[i], soon, s.describe())
		}
	}
}

// finishes waits until one zone is whole on its newest template.
func (s *scene) finishes(name string) {
	s.t.Helper()
	s.eventually("zone "+name+" is whole on its newest template", func(now present) error { return finished(now, name) })
}

// finished says what is missing until a zone has reached its goal.
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

// free says which Lease is held or has notes.
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

// awaitDeletions waits until operators have deleted so many pods in all.
func (s *scene) awaitDeletions(n int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("operators have deleted %d pods", n), func(present) error {
		if all := s.deletions(); len(all) < n {
			return fmt.Errorf("they deleted %q", all)
		}
		return nil
	})
}

// comesUp waits until a pod serves on the newest template of its zone.
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

// nothingIsDeleted looks for a while that operators delete no pod.
func (s *scene) nothingIsDeleted(why string) {
	s.t.Helper()
	before := len(s.takedowns())
	s.stays("no pod is deleted "+why, aWhile, func(present) error {
		if all := s.deletions(); len(all) > before {
			return fmt.Errorf("operators deleted %q", all[before:])
		}
		return nil
	})
}

// lease returns the Lease of a group, waiting for it if need be.
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

// eventually waits until a check passes, asking again at every change.
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
			s.t.Fatalf("waited %s in vain: %s\nlast: %v\n%s", s.patience, what, err, s.describe())
		}
	}
}

// stays asks a check again and again for some time; it has to pass every time.
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

// describe tells everything that helps to understand a failure.
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
