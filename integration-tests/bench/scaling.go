package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// maxFollow is the goal from the change of the source until a zone follows.
const maxFollow = time.Second

const (
	followerPods     = 2 // in each zone, between changes
	idleFollowerPods = 1
)

const (
	mirrorAnnotation = "grafana.com/rollout-mirror-replicas-from-resource-"
	leaderAnnotation = "grafana.com/rollout-downscale-leader"
)

var (
	templates    = schema.GroupVersionResource{Group: "rollout-operator.grafana.com", Version: "v1", Resource: "replicatemplates"}
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// scaling measures zones that follow a source: how soon they follow a change, and how often pods are
// called in a delayed downscale.
func (b *bench) scaling(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "scaling", func(ctx context.Context, tb *testbed) ([]row, error) {
		sources, err := dynamic.NewForConfig(tb.cluster.AdminConfig())
		if err != nil {
			return nil, fmt.Errorf("make client: %w", err)
		}
		tb.contenders = tb.contenders[:2] // the floor and lockstep; other operators need not scale
		mirrors, followers := map[string]followerGroup{}, map[string]followerGroup{}
		for _, c := range tb.contenders {
			namespaces, err := tb.makeNamespaces(ctx, c, 1)
			if err != nil {
				return nil, err
			}
			if mirrors[c.name], err = tb.makeMirrorGroup(ctx, sources, c, namespaces[0]); err != nil {
				return nil, err
			}
			if followers[c.name], err = tb.makeFollowerGroup(ctx, sources, c, namespaces[0]); err != nil {
				return nil, err
			}
			if err := tb.startScaling(ctx, c, mirrors[c.name], followers[c.name]); err != nil {
				return nil, err
			}
		}
		rows, err := tb.measureFollowers(ctx, mirrors, followers)
		if err != nil {
			return rows, err
		}
		more, err := tb.measureDelayedDownscale(ctx, sources)
		return append(rows, more...), err
	})
}

// startScaling starts the operator or, for the floor, its loop.
func (tb *testbed) startScaling(ctx context.Context, c *contender, all ...followerGroup) error {
	if !c.isFloor() {
		return tb.start(ctx, c, all[0].namespace)
	}
	for _, e := range all {
		if err := tb.startScalingFloor(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// makeMirrorGroup creates a group whose zones all mirror one ReplicaTemplate.
func (tb *testbed) makeMirrorGroup(ctx context.Context, sources dynamic.Interface, c *contender, namespace string) (followerGroup, error) {
	g := newGroups([]string{namespace}, c.name, "mirror-", 1, followerPods)[0]
	e := followerGroup{group: g, source: replicaSource{sources.Resource(templates).Namespace(namespace), g.name}, followers: g.zoneNames()}
	if err := tb.makeTemplate(ctx, e.source, g.pods); err != nil {
		return e, err
	}
	return e, tb.makeGroupWithSource(ctx, e, mirrorAnnotations(e.source.name))
}

func (tb *testbed) makeTemplate(ctx context.Context, d replicaSource, replicas int) error {
	template := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": templates.GroupVersion().String(), "kind": "ReplicaTemplate",
		"metadata": map[string]any{"name": d.name}, "spec": map[string]any{"replicas": int64(replicas)},
	}}
	if _, err := d.objects.Create(ctx, template, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make ReplicaTemplate %s: %w", d.name, err)
	}
	return nil
}

// mirrorAnnotations returns the annotations of a zone that mirrors a ReplicaTemplate.
func mirrorAnnotations(template string) map[string]string {
	return map[string]string{
		mirrorAnnotation + "name": template, mirrorAnnotation + "kind": "ReplicaTemplate",
		mirrorAnnotation + "api-version": templates.GroupVersion().String(),
	}
}

// makeFollowerGroup creates a group whose second and third zones follow the first.
func (tb *testbed) makeFollowerGroup(ctx context.Context, sources dynamic.Interface, c *contender, namespace string) (followerGroup, error) {
	g := newGroups([]string{namespace}, c.name, "follow-", 1, followerPods)[0]
	leader, followers := g.zoneNames()[0], g.zoneNames()[1:]
	e := followerGroup{group: g, source: replicaSource{sources.Resource(statefulSets).Namespace(namespace), leader}, followers: followers}
	return e, tb.makeGroupWithSource(ctx, e, map[string]string{leaderAnnotation: leader})
}

// makeGroupWithSource creates the group and annotates its followers.
func (tb *testbed) makeGroupWithSource(ctx context.Context, e followerGroup, annotations map[string]string) error {
	if err := tb.makeGroups(ctx, []*group{e.group}); err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	for _, zone := range e.followers {
		if _, err := tb.client.AppsV1().StatefulSets(e.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("annotate %s/%s: %w", e.namespace, zone, err)
		}
	}
	return nil
}

// measureFollowers measures both kinds of followers, and mirrors next to idle groups as well.
func (tb *testbed) measureFollowers(ctx context.Context, mirrors, followers map[string]followerGroup) ([]row, error) {
	var rows []row
	for _, one := range []struct {
		name, what string
		idle       int
		groups     map[string]followerGroup
	}{
		{"mirrors", "reference changed to last of 3 zones patched", 0, mirrors},
		{"followers", "leader changed to last of 2 followers patched", 0, followers},
		{"mirrors beside idle groups", fmt.Sprintf("reference changed, beside %d idle groups", tb.scale.idle), tb.scale.idle, mirrors},
	} {
		if err := tb.makeIdleGroups(ctx, mirrors, one.idle); err != nil {
			return rows, err
		}
		all, err := tb.changeInTurns(ctx, one.name, one.groups)
		if err != nil {
			return rows, err
		}
		rows = append(rows, followRows(one.what, all)...)
	}
	return rows, nil
}

func (tb *testbed) makeIdleGroups(ctx context.Context, groups map[string]followerGroup, count int) error {
	for _, c := range tb.contenders {
		if c.isFloor() {
			continue
		}
		idle := newGroups([]string{groups[c.name].namespace}, c.name+"-idle", "idle-", count, idleFollowerPods)
		if err := tb.makeGroups(ctx, idle); err != nil {
			return err
		}
	}
	return nil
}

// changeInTurns makes all contenders follow one change up and one down, one after the other, several
// times. It does not count the first round.
func (tb *testbed) changeInTurns(ctx context.Context, what string, groups map[string]followerGroup) (map[string]followSeries, error) {
	all := map[string]followSeries{}
	for run := range tb.scale.changes + 1 {
		for i := range tb.contenders {
			c := tb.contenders[(run+i)%len(tb.contenders)]
			for _, up := range []bool{true, false} {
				replicas := followerPods
				if up {
					replicas++
				}
				took, err := tb.awaitFollowers(ctx, groups[c.name], replicas)
				if err != nil {
					return nil, fmt.Errorf("%s of %s: %w", what, c.name, err)
				}
				took.up = up
				if run > 0 {
					all[c.name] = append(all[c.name], took)
				}
			}
		}
		if run%10 == 0 {
			tb.report("%s, change %d of %d", what, run, tb.scale.changes)
		}
	}
	return all, nil
}

// followSeries is the results of one contender, change by change.
type followSeries []followTimes

// of returns one figure of all changes in one direction.
func (t followSeries) of(up bool, figure func(followTimes) time.Duration) []time.Duration {
	var all []time.Duration
	for _, one := range t {
		if one.up == up {
			all = append(all, figure(one))
		}
	}
	return all
}

func followRows(what string, all map[string]followSeries) []row {
	first := func(t followTimes) time.Duration { return t.first }
	last := func(t followTimes) time.Duration { return t.last }
	return []row{
		followRow(fmt.Sprintf("%s, up, p50 / p99 of %d", what, len(all[lockstepName].of(true, last))), maxFollow, all, true, last),
		followRow("the same down, to the first zone", maxFollow, all, false, first),
		followRow("the same down, to the last one, zone after zone", 0, all, false, last),
	}
}

// followRow is the row about one figure, with its ratio to the floor of the same changes. A goal of 0
// is none.
func followRow(what string, limit time.Duration, all map[string]followSeries, up bool, figure func(followTimes) time.Duration) row {
	floors := all[floorName].of(up, figure)
	r := row{what: what, cells: map[string]string{}}
	for name, t := range all {
		took := t.of(up, figure)
		r.cells[name] = milliseconds(median(took), quantile(took, 0.99))
		if name != floorName {
			r.cells[name] += " " + spread(ratios(took, floors))
		}
	}
	if limit > 0 {
		own := all[lockstepName].of(up, figure)
		r.goal, r.met = fmt.Sprintf("p99 ≤ %d s", limit/time.Second), verdictOf(quantile(own, 0.99) <= limit)
	}
	return r
}
