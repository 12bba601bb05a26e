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

// quietPeriod is how long no call may follow the last one.
const quietPeriod = 1500 * time.Millisecond

// delayedGroup is a group of one zone with a delayed downscale.
type delayedGroup struct {
	followerGroup
	podServer    *podServer
	earlierCalls int // calls before the current transition
}

// measureDelayedDownscale measures the cost of a delayed downscale. Only lockstep calls pods at their
// IP addresses. Other operators need a DNS server, which the cluster does not have.
func (tb *testbed) measureDelayedDownscale(ctx context.Context, sources dynamic.Interface) (rows []row, err error) {
	if tb.networkErr != nil {
		tb.report("NOT MEASURED: calls to pods with a delayed downscale: no network namespace: %v", tb.networkErr)
		return []row{{what: "calls per pod and transition", goal: "1", cells: map[string]string{lockstepName: "not measured"}}}, nil
	}
	c := tb.contenders[1]
	if err := tb.stopContender(ctx, c); err != nil {
		return nil, err
	}
	residents, stop, err := startPodServer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	e, err := tb.makeDelayedGroup(ctx, sources, c)
	if err != nil {
		return nil, err
	}
	e.podServer = residents
	all, removalDelay, err := tb.scaleDelayedGroup(ctx, c, e)
	if err != nil {
		return nil, fmt.Errorf("delayed downscale: %w", err)
	}
	return delayedRows(all, removalDelay), nil
}

// stopContender stops the processes of a contender gracefully, so that the next process becomes leader
// at once. It keeps their logs.
func (tb *testbed) stopContender(ctx context.Context, c *contender) error {
	for _, p := range c.processes {
		if err := p.stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// makeDelayedGroup creates a group of one zone that mirrors a ReplicaTemplate with a delay.
func (tb *testbed) makeDelayedGroup(ctx context.Context, sources dynamic.Interface, c *contender) (*delayedGroup, error) {
	namespace := namespacePrefix + c.name + "-delayed"
	if err := tb.makeNamespace(ctx, namespace, map[string]string{contenderLabel: c.name, "lockstep.dev/enabled": "true"}); err != nil {
		return nil, err
	}
	g := newGroups([]string{namespace}, c.name+"-delayed", "delayed-", 1, tb.scale.delayed)[0]
	g.zones = 1
	e := &delayedGroup{followerGroup: followerGroup{group: g, source: replicaSource{sources.Resource(templates).Namespace(namespace), g.name}, followers: g.zoneNames()}}
	if err := tb.makeTemplate(ctx, e.source, g.pods); err != nil {
		return nil, err
	}
	set := g.statefulSet(0)
	set.Spec.ServiceName = "pods"
	set.Annotations = mirrorAnnotations(e.source.name)
	set.Annotations[delayAnnotation] = fmt.Sprintf("%ds", int(tb.scale.delay.Seconds()))
	set.Annotations[delayURLAnnotation] = "http://pod:" + podPort + "/leave"
	if _, err := tb.client.AppsV1().StatefulSets(namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make %s/%s: %w", namespace, set.Name, err)
	}
	return e, tb.await(ctx, "Ready pods of "+g.key(), g.pods, func() (int, error) {
		set, err := tb.delayedZone(ctx, e)
		if err != nil {
			return 0, err
		}
		return int(set.Status.ReadyReplicas), nil
	})
}

func (tb *testbed) delayedZone(ctx context.Context, e *delayedGroup) (*appsv1.StatefulSet, error) {
	set, err := tb.client.AppsV1().StatefulSets(e.namespace).Get(ctx, e.zoneNames()[0], metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", e.key(), err)
	}
	return set, nil
}

// scaleDelayedGroup starts lockstep, removes two thirds of the replicas, cancels that before the delay
// ends, and removes them again until the API server has deleted them. It returns the calls to pods and
// the time from the end of the delay to the removal.
func (tb *testbed) scaleDelayedGroup(ctx context.Context, c *contender, e *delayedGroup) ([]transition, time.Duration, error) {
	pods := e.podNames()
	kept := len(pods) / 3
	removed := pods[kept:]
	if _, err := tb.audit.next(); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := tb.start(ctx, c, e.namespace); err != nil {
		return nil, 0, err
	}
	started, err := tb.awaitCalls(ctx, c, e, transition{what: "start", method: http.MethodDelete, pods: pods, began: began})
	if err != nil {
		return nil, 0, err
	}
	all := []transition{started}
	for _, next := range []struct {
		transition
		replicas int
	}{
		{transition{what: "downscale", method: http.MethodPost, pods: removed}, kept},
		{transition{what: "cancel", method: http.MethodDelete, pods: removed}, len(pods)},
	} {
		if next.began, err = e.source.setReplicas(ctx, next.replicas); err != nil {
			return all, 0, err
		}
		t, err := tb.awaitCalls(ctx, c, e, next.transition)
		if err != nil {
			return all, 0, err
		}
		all = append(all, t)
		if err := tb.checkNoneRemoved(ctx, e); err != nil {
			return all, 0, err
		}
	}
	last := transition{what: "downscale again", method: http.MethodPost, pods: removed, began: time.Now()}
	took, err := tb.awaitFollowers(ctx, e.followerGroup, kept)
	if err != nil {
		return all, 0, err
	}
	last, err = tb.awaitCalls(ctx, c, e, last)
	return append(all, last), took.last - tb.scale.delay, err
}

// checkNoneRemoved returns an error if replicas were removed before the downscale was cancelled.
func (tb *testbed) checkNoneRemoved(ctx context.Context, e *delayedGroup) error {
	set, err := tb.delayedZone(ctx, e)
	if err == nil && int(*set.Spec.Replicas) != e.pods {
		err = fmt.Errorf("%d of %d replicas remain before the downscale is cancelled: the delay is too short", *set.Spec.Replicas, e.pods)
	}
	return err
}

// awaitCalls waits until every pod was called and no further calls arrive.
func (tb *testbed) awaitCalls(ctx context.Context, c *contender, e *delayedGroup, t transition) (transition, error) {
	err := tb.await(ctx, fmt.Sprintf("calls to pods (%s)", t.what), len(t.pods), func() (int, error) {
		return min(len(e.podServer.since(e.earlierCalls)), len(t.pods)), nil
	})
	if err != nil {
		return t, err
	}
	if err := pause(ctx, quietPeriod); err != nil {
		return t, err
	}
	t.calls = e.podServer.since(e.earlierCalls)
	e.earlierCalls += len(t.calls)
	requests, err := tb.audit.next()
	if err != nil {
		return t, err
	}
	for _, q := range requests {
		if q.user == c.user && q.namespace == e.namespace && q.resource == "leases" && q.code < 300 {
			t.leases++
		}
	}
	tb.report("%s: %d calls to %d pods within %s, %d writes of the Lease", t.what, len(t.calls), len(t.pods), seconds(t.lastCall()), t.leases)
	return t, nil
}

// delayedRows are the rows about all transitions.
func delayedRows(all []transition, removal time.Duration) []row {
	var names, due, perPod, leases []string
	var lastCalls []time.Duration
	exact := true
	for _, t := range all {
		names = append(names, t.what)
		due = append(due, fmt.Sprint(len(t.pods)))
		perPod = append(perPod, fmt.Sprintf("%.2f", t.perPod()))
		leases = append(leases, fmt.Sprint(t.leases))
		lastCalls = append(lastCalls, t.lastCall())
		exact = exact && t.isExact()
	}
	cell := func(text string) map[string]string { return map[string]string{lockstepName: text} }
	slash := func(words []string) string { return strings.Join(words, " / ") }
	return []row{
		{what: fmt.Sprintf("calls per pod and transition: %s; of %s pods", slash(names), slash(due)), goal: "1", cells: cell(slash(perPod)), met: verdictOf(exact)},
		{what: "Lease writes of the group for each", cells: cell(slash(leases))},
		{what: "change to last call answered", cells: cell(milliseconds(lastCalls...))},
		{what: fmt.Sprintf("change to %s pods fewer, without the delay", due[len(due)-1]), cells: cell(seconds(removal))},
	}
}
