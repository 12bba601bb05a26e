package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// replicaSource is an object whose spec.replicas zones follow: a ReplicaTemplate or the leading zone.
type replicaSource struct {
	objects dynamic.ResourceInterface
	name    string
}

// setReplicas changes the replicas and returns when the API server had answered.
func (s replicaSource) setReplicas(ctx context.Context, replicas int) (time.Time, error) {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := s.objects.Patch(ctx, s.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return time.Time{}, fmt.Errorf("set %s to %d replicas: %w", s.name, replicas, err)
	}
	return time.Now(), nil
}

// followerGroup is a group whose zones follow a source.
type followerGroup struct {
	*group
	source    replicaSource
	followers []string // the zones that follow the source
}

// followTimes is how long zones took to follow one change.
type followTimes struct {
	up          bool
	first, last time.Duration // from the answer to the change of the source, to the event of the zone
}

// followProgress is the state of zones that follow a change.
type followProgress struct {
	followerGroup
	want      int32
	resizedAt map[string]time.Time // by zone: when an event first showed the wanted replicas
	available map[string]bool      // by zone of the group
}

func newFollowProgress(e followerGroup, want int) *followProgress {
	return &followProgress{followerGroup: e, want: int32(want), resizedAt: map[string]time.Time{}, available: map[string]bool{}}
}

// observe records one event of a zone.
func (p *followProgress) observe(set *appsv1.StatefulSet, at time.Time) {
	sized := set.Spec.Replicas != nil && *set.Spec.Replicas == p.want
	if _, known := p.resizedAt[set.Name]; sized && !known {
		p.resizedAt[set.Name] = at
	}
	status := set.Status
	p.available[set.Name] = sized && status.ObservedGeneration == set.Generation && status.Replicas == p.want && status.ReadyReplicas == p.want
}

// done reports whether all zones have the wanted replicas and are available.
func (p *followProgress) done() bool {
	for _, zone := range p.zoneNames() {
		if !p.available[zone] {
			return false
		}
	}
	return true
}

// since returns how long the followers took.
func (p *followProgress) since(changed time.Time) followTimes {
	var t followTimes
	for i, zone := range p.followers {
		took := p.resizedAt[zone].Sub(changed)
		if i == 0 || took < t.first {
			t.first = took
		}
		t.last = max(t.last, took)
	}
	return t
}

// awaitFollowers changes the source and waits until all zones have the replicas and are available.
func (tb *testbed) awaitFollowers(ctx context.Context, e followerGroup, replicas int) (followTimes, error) {
	sets := tb.client.AppsV1().StatefulSets(e.namespace)
	only := metav1.ListOptions{LabelSelector: groupLabel + "=" + e.name}
	list, err := sets.List(ctx, only)
	if err != nil {
		return followTimes{}, fmt.Errorf("list StatefulSets: %w", err)
	}
	only.ResourceVersion = list.ResourceVersion
	events, err := sets.Watch(ctx, only)
	if err != nil {
		return followTimes{}, fmt.Errorf("watch StatefulSets: %w", err)
	}
	defer events.Stop()
	p := newFollowProgress(e, replicas)
	changed, err := e.source.setReplicas(ctx, replicas)
	if err != nil {
		return followTimes{}, err
	}
	for quiet := time.NewTimer(stallTimeout); !p.done(); quiet.Reset(stallTimeout) {
		select {
		case event := <-events.ResultChan():
			set, ok := event.Object.(*appsv1.StatefulSet)
			if !ok {
				return followTimes{}, errors.Join(context.Cause(ctx), errors.New("the watch of StatefulSets has ended"))
			}
			p.observe(set, time.Now())
		case <-ctx.Done():
			return followTimes{}, context.Cause(ctx)
		case <-quiet.C:
			return followTimes{}, fmt.Errorf("no progress for %s: %s does not have the %d replicas of %s", stallTimeout, e.key(), replicas, e.source.name)
		}
	}
	return p.since(changed), pause(ctx, settleAfterRollout)
}
