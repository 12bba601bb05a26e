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

// dial is an object whose spec.replicas zones take over: a ReplicaTemplate, or
// the zone that leads them.
type dial struct {
	objects dynamic.ResourceInterface
	name    string
}

// turn changes the replicas and returns when the API server had answered.
func (d dial) turn(ctx context.Context, replicas int) (time.Time, error) {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := d.objects.Patch(ctx, d.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return time.Time{}, fmt.Errorf("ask %s for %d replicas: %w", d.name, replicas, err)
	}
	return time.Now(), nil
}

// ensemble is a group whose zones take the number of a dial over.
type ensemble struct {
	*group
	dial  dial
	takes []string // the zones that do
}

// takeover is how long zones took to follow one change.
type takeover struct {
	up          bool
	first, last time.Duration // from the answer to who changed it, to the watch's event of the zone
}

// progress is what a watch tells of zones that take a number over.
type progress struct {
	ensemble
	want  int32
	taken map[string]time.Time // by zone, when it was first seen with the number
	whole map[string]bool      // by zone of the group
}

func newProgress(e ensemble, want int) *progress {
	return &progress{ensemble: e, want: int32(want), taken: map[string]time.Time{}, whole: map[string]bool{}}
}

// see takes one event of the watch in.
func (p *progress) see(set *appsv1.StatefulSet, at time.Time) {
	sized := set.Spec.Replicas != nil && *set.Spec.Replicas == p.want
	if _, known := p.taken[set.Name]; sized && !known {
		p.taken[set.Name] = at
	}
	is := set.Status
	p.whole[set.Name] = sized && is.ObservedGeneration == set.Generation && is.Replicas == p.want && is.ReadyReplicas == p.want
}

// done reports whether all zones have the number and are whole.
func (p *progress) done() bool {
	for _, zone := range p.zoneNames() {
		if !p.whole[zone] {
			return false
		}
	}
	return true
}

// since returns how long the zones took that were to follow.
func (p *progress) since(changed time.Time) takeover {
	var t takeover
	for i, zone := range p.takes {
		took := p.taken[zone].Sub(changed)
		if i == 0 || took < t.first {
			t.first = took
		}
		t.last = max(t.last, took)
	}
	return t
}

// takeOver turns the dial and waits until all zones have the number and are
// whole.
func (a *arena) takeOver(ctx context.Context, e ensemble, replicas int) (takeover, error) {
	sets := a.client.AppsV1().StatefulSets(e.namespace)
	only := metav1.ListOptions{LabelSelector: groupLabel + "=" + e.name}
	list, err := sets.List(ctx, only)
	if err != nil {
		return takeover{}, fmt.Errorf("list StatefulSets: %w", err)
	}
	only.ResourceVersion = list.ResourceVersion
	events, err := sets.Watch(ctx, only)
	if err != nil {
		return takeover{}, fmt.Errorf("watch StatefulSets: %w", err)
	}
	defer events.Stop()
	p := newProgress(e, replicas)
	changed, err := e.dial.turn(ctx, replicas)
	if err != nil {
		return takeover{}, err
	}
	for quiet := time.NewTimer(patience); !p.done(); quiet.Reset(patience) {
		select {
		case event := <-events.ResultChan():
			set, ok := event.Object.(*appsv1.StatefulSet)
			if !ok {
				return takeover{}, errors.Join(context.Cause(ctx), errors.New("the watch of StatefulSets has ended"))
			}
			p.see(set, time.Now())
		case <-ctx.Done():
			return takeover{}, context.Cause(ctx)
		case <-quiet.C:
			return takeover{}, fmt.Errorf("nothing has happened for %s, and %s has not taken over %d replicas of %s", patience, e.key(), replicas, e.dial.name)
		}
	}
	return p.since(changed), pause(ctx, afterglow)
}
