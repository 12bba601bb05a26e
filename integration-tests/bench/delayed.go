package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

const (
	delayAnnotation    = "grafana.com/rollout-delayed-downscale"
	delayURLAnnotation = "grafana.com/rollout-prepare-delayed-downscale-url"
)

// silence is how long after the last call no other one may come.
const silence = 1500 * time.Millisecond

// evacuation is one zone whose pods leave with a delay.
type evacuation struct {
	ensemble
	residents *residents
	heard     int // calls before the present transition
}

// delayedDownscale measures what it costs that pods wait before they leave. Only
// lockstep calls pods at their addresses; others look for their names in a DNS,
// which is not there.
func (a *arena) delayedDownscale(ctx context.Context, dials dynamic.Interface) (rows []row, err error) {
	if a.noNetwork != nil {
		a.say("NOT MEASURED: calls to pods that leave with a delay: no network of our own: %v", a.noNetwork)
		return []row{{what: "calls per pod and transition", goal: "1", cells: map[string]string{lockstepName: "not measured"}}}, nil
	}
	r := a.racers[1]
	if err := a.stopRacer(ctx, r); err != nil {
		return nil, err
	}
	residents, leave, err := settleIn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	e, err := a.makeEvacuation(ctx, dials, r)
	if err != nil {
		return nil, err
	}
	e.residents = residents
	all, left, err := a.evacuate(ctx, r, e)
	if err != nil {
		return nil, fmt.Errorf("delayed downscale: %w", err)
	}
	return delayedRows(all, left), nil
}

// stopRacer ends the processes of a racer in an orderly way, so that the next one
// leads at once. Their logs are kept.
func (a *arena) stopRacer(ctx context.Context, r *racer) error {
	for _, p := range r.processes {
		if err := p.stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// makeEvacuation makes a group of one zone that mirrors a ReplicaTemplate, with a
// delay.
func (a *arena) makeEvacuation(ctx context.Context, dials dynamic.Interface, r *racer) (*evacuation, error) {
	namespace := namespacePrefix + r.name + "-delayed"
	if err := a.makeNamespace(ctx, namespace, map[string]string{racerLabel: r.name, "lockstep.dev/enabled": "true"}); err != nil {
		return nil, err
	}
	g := newGroups([]string{namespace}, r.name+"-delayed", "delayed-", 1, a.scale.delayed)[0]
	g.zones = 1
	e := &evacuation{ensemble: ensemble{group: g, dial: dial{dials.Resource(templates).Namespace(namespace), g.name}, takes: g.zoneNames()}}
	if err := a.makeTemplate(ctx, e.dial, g.pods); err != nil {
		return nil, err
	}
	set := g.statefulSet(0)
	set.Spec.ServiceName = "pods"
	set.Annotations = mirroring(e.dial.name)
	set.Annotations[delayAnnotation] = fmt.Sprintf("%ds", int(a.scale.delay.Seconds()))
	set.Annotations[delayURLAnnotation] = "http://pod:" + podPort + "/leave"
	if _, err := a.client.AppsV1().StatefulSets(namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make %s/%s: %w", namespace, set.Name, err)
	}
	return e, a.await(ctx, "Ready pods of "+g.key(), g.pods, func() (int, error) {
		set, err := a.delayedZone(ctx, e)
		if err != nil {
			return 0, err
		}
		return int(set.Status.ReadyReplicas), nil
	})
}

func (a *arena) delayedZone(ctx context.Context, e *evacuation) (*appsv1.StatefulSet, error) {
	set, err := a.client.AppsV1().StatefulSets(e.namespace).Get(ctx, e.zoneNames()[0], metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", e.key(), err)
	}
	return set, nil
}

// evacuate starts lockstep, wishes two thirds of the pods away, takes that back
// before the delay is over, and wishes it again until they are gone. It returns
// what pods heard and how long after the delay the last of them was let go.
func (a *arena) evacuate(ctx context.Context, r *racer, e *evacuation) ([]transition, time.Duration, error) {
	pods := e.podNames()
	staying := len(pods) / 3
	leaving := pods[staying:]
	if _, err := a.audit.next(); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := a.start(ctx, r, e.namespace); err != nil {
		return nil, 0, err
	}
	started, err := a.transit(ctx, r, e, transition{what: "start", method: http.MethodDelete, due: pods, began: began})
	if err != nil {
		return nil, 0, err
	}
	all := []transition{started}
	for _, next := range []struct {
		transition
		replicas int
	}{
		{transition{what: "leave", method: http.MethodPost, due: leaving}, staying},
		{transition{what: "stay after all", method: http.MethodDelete, due: leaving}, len(pods)},
	} {
		if next.began, err = e.dial.turn(ctx, next.replicas); err != nil {
			return all, 0, err
		}
		t, err := a.transit(ctx, r, e, next.transition)
		if err != nil {
			return all, 0, err
		}
		all = append(all, t)
		if err := a.nobodyLeft(ctx, e); err != nil {
			return all, 0, err
		}
	}
	last := transition{what: "leave again", method: http.MethodPost, due: leaving, began: time.Now()}
	took, err := a.takeOver(ctx, e.ensemble, staying)
	if err != nil {
		return all, 0, err
	}
	last, err = a.transit(ctx, r, e, last)
	return append(all, last), took.last - a.scale.delay, err
}

// nobodyLeft returns an error if the wish was taken back too late to measure that.
func (a *arena) nobodyLeft(ctx context.Context, e *evacuation) error {
	set, err := a.delayedZone(ctx, e)
	if err == nil && int(*set.Spec.Replicas) != e.pods {
		err = fmt.Errorf("%d of %d replicas are left before the wish is taken back: the delay is too short to measure with", *set.Spec.Replicas, e.pods)
	}
	return err
}

// transit waits until as many calls have come as pods have to be told, and no
// more come.
func (a *arena) transit(ctx context.Context, r *racer, e *evacuation, t transition) (transition, error) {
	err := a.await(ctx, fmt.Sprintf("calls to pods (%s)", t.what), len(t.due), func() (int, error) {
		return min(len(e.residents.since(e.heard)), len(t.due)), nil
	})
	if err != nil {
		return t, err
	}
	if err := pause(ctx, silence); err != nil {
		return t, err
	}
	t.calls = e.residents.since(e.heard)
	e.heard += len(t.calls)
	requests, err := a.audit.next()
	if err != nil {
		return t, err
	}
	for _, q := range requests {
		if q.user == r.user && q.namespace == e.namespace && q.resource == "leases" && q.code < 300 {
			t.leases++
		}
	}
	a.say("%s: %d calls to %d pods within %s, %d writes of the Lease", t.what, len(t.calls), len(t.due), seconds(t.told()), t.leases)
	return t, nil
}

// delayedRows are about what all transitions cost.
func delayedRows(all []transition, late time.Duration) []row {
	var names, due, perPod, leases []string
	var told []time.Duration
	exact := true
	for _, t := range all {
		names = append(names, t.what)
		due = append(due, fmt.Sprint(len(t.due)))
		perPod = append(perPod, fmt.Sprintf("%.2f", t.perPod()))
		leases = append(leases, fmt.Sprint(t.leases))
		told = append(told, t.told())
		exact = exact && t.exact()
	}
	cell := func(text string) map[string]string { return map[string]string{lockstepName: text} }
	slash := func(words []string) string { return strings.Join(words, " / ") }
	return []row{
		{what: fmt.Sprintf("calls per pod and transition: %s; of %s pods", slash(names), slash(due)), goal: "1", cells: cell(slash(perPod)), met: verdictOf(exact)},
		{what: "Lease writes of the group for each", cells: cell(slash(leases))},
		{what: "wish to last call answered", cells: cell(milliseconds(told...))},
		{what: fmt.Sprintf("wish to %s pods fewer, the delay apart", due[len(due)-1]), cells: cell(seconds(late))},
	}
}
