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

// mostTakeover is the goal from the change of a number to the zones' patches.
const mostTakeover = time.Second

const (
	ensemblePods     = 2 // in each zone, between changes
	idleEnsemblePods = 1
)

const (
	mirrorAnnotation = "grafana.com/rollout-mirror-replicas-from-resource-"
	leaderAnnotation = "grafana.com/rollout-downscale-leader"
)

var (
	templates    = schema.GroupVersionResource{Group: "rollout-operator.grafana.com", Version: "v1", Resource: "replicatemplates"}
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// scaling measures zones that have their replicas from somewhere else: how soon
// they take a changed number over, and how often pods are called before they leave
// with a delay.
func (b *bench) scaling(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "scaling", func(ctx context.Context, a *arena) ([]row, error) {
		dials, err := dynamic.NewForConfig(a.cluster.AdminConfig())
		if err != nil {
			return nil, fmt.Errorf("make client: %w", err)
		}
		a.racers = a.racers[:2] // the floor and lockstep: a contender need not scale
		mirrors, leads := map[string]ensemble{}, map[string]ensemble{}
		for _, r := range a.racers {
			namespaces, err := a.makeNamespaces(ctx, r, 1)
			if err != nil {
				return nil, err
			}
			if mirrors[r.name], err = a.makeMirrors(ctx, dials, r, namespaces[0]); err != nil {
				return nil, err
			}
			if leads[r.name], err = a.makeFollowers(ctx, dials, r, namespaces[0]); err != nil {
				return nil, err
			}
			if err := a.startScaling(ctx, r, mirrors[r.name], leads[r.name]); err != nil {
				return nil, err
			}
		}
		rows, err := a.takeovers(ctx, mirrors, leads)
		if err != nil {
			return rows, err
		}
		more, err := a.delayedDownscale(ctx, dials)
		return append(rows, more...), err
	})
}

// startScaling runs the operator or, for the floor, its imitation.
func (a *arena) startScaling(ctx context.Context, r *racer, all ...ensemble) error {
	if !r.isFloor() {
		return a.start(ctx, r, all[0].namespace)
	}
	for _, e := range all {
		if err := a.imitate(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// makeMirrors makes a group whose zones all mirror one ReplicaTemplate.
func (a *arena) makeMirrors(ctx context.Context, dials dynamic.Interface, r *racer, namespace string) (ensemble, error) {
	g := newGroups([]string{namespace}, r.name, "mirror-", 1, ensemblePods)[0]
	e := ensemble{group: g, dial: dial{dials.Resource(templates).Namespace(namespace), g.name}, takes: g.zoneNames()}
	if err := a.makeTemplate(ctx, e.dial, g.pods); err != nil {
		return e, err
	}
	return e, a.makeEnsemble(ctx, e, mirroring(e.dial.name))
}

func (a *arena) makeTemplate(ctx context.Context, d dial, replicas int) error {
	template := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": templates.GroupVersion().String(), "kind": "ReplicaTemplate",
		"metadata": map[string]any{"name": d.name}, "spec": map[string]any{"replicas": int64(replicas)},
	}}
	if _, err := d.objects.Create(ctx, template, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make ReplicaTemplate %s: %w", d.name, err)
	}
	return nil
}

// mirroring are annotations of a zone that takes over what a ReplicaTemplate asks for.
func mirroring(template string) map[string]string {
	return map[string]string{
		mirrorAnnotation + "name": template, mirrorAnnotation + "kind": "ReplicaTemplate",
		mirrorAnnotation + "api-version": templates.GroupVersion().String(),
	}
}

// makeFollowers makes a group whose second and third zones follow the first.
func (a *arena) makeFollowers(ctx context.Context, dials dynamic.Interface, r *racer, namespace string) (ensemble, error) {
	g := newGroups([]string{namespace}, r.name, "follow-", 1, ensemblePods)[0]
	leader, followers := g.zoneNames()[0], g.zoneNames()[1:]
	e := ensemble{group: g, dial: dial{dials.Resource(statefulSets).Namespace(namespace), leader}, takes: followers}
	return e, a.makeEnsemble(ctx, e, map[string]string{leaderAnnotation: leader})
}

// makeEnsemble makes the group and tells its zones whom to follow.
func (a *arena) makeEnsemble(ctx context.Context, e ensemble, annotations map[string]string) error {
	if err := a.makeGroups(ctx, []*group{e.group}); err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	for _, zone := range e.takes {
		if _, err := a.client.AppsV1().StatefulSets(e.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("annotate %s/%s: %w", e.namespace, zone, err)
		}
	}
	return nil
}

// takeovers measures both ways to have replicas from somewhere else, and mirrors
// beside idle groups as well.
func (a *arena) takeovers(ctx context.Context, mirrors, leads map[string]ensemble) ([]row, error) {
	var rows []row
	for _, one := range []struct {
		who, what string
		idle      int
		ensembles map[string]ensemble
	}{
		{"mirrors", "reference changed to last of 3 zones patched", 0, mirrors},
		{"followers", "leader changed to last of 2 followers patched", 0, leads},
		{"mirrors beside idle groups", fmt.Sprintf("reference changed, beside %d idle groups", a.scale.idle), a.scale.idle, mirrors},
	} {
		if err := a.makeIdle(ctx, mirrors, one.idle); err != nil {
			return rows, err
		}
		all, err := a.changeInTurn(ctx, one.who, one.ensembles)
		if err != nil {
			return rows, err
		}
		rows = append(rows, takeoverRows(one.what, all)...)
	}
	return rows, nil
}

func (a *arena) makeIdle(ctx context.Context, beside map[string]ensemble, count int) error {
	for _, r := range a.racers {
		if r.isFloor() {
			continue
		}
		idle := newGroups([]string{beside[r.name].namespace}, r.name+"-idle", "idle-", count, idleEnsemblePods)
		if err := a.makeGroups(ctx, idle); err != nil {
			return err
		}
	}
	return nil
}

// changeInTurn lets everybody follow one change up and one down, one after the
// other, several times. The first round is not counted.
func (a *arena) changeInTurn(ctx context.Context, what string, ensembles map[string]ensemble) (map[string]takeovers, error) {
	all := map[string]takeovers{}
	for run := range a.scale.changes + 1 {
		for i := range a.racers {
			r := a.racers[(run+i)%len(a.racers)]
			for _, up := range []bool{true, false} {
				replicas := ensemblePods
				if up {
					replicas++
				}
				took, err := a.takeOver(ctx, ensembles[r.name], replicas)
				if err != nil {
					return nil, fmt.Errorf("%s of %s: %w", what, r.name, err)
				}
				took.up = up
				if run > 0 {
					all[r.name] = append(all[r.name], took)
				}
			}
		}
		if run%10 == 0 {
			a.say("%s, change %d of %d", what, run, a.scale.changes)
		}
	}
	return all, nil
}

// takeovers are what one racer took, change by change.
type takeovers []takeover

// of returns one figure of all changes in one direction.
func (t takeovers) of(up bool, figure func(takeover) time.Duration) []time.Duration {
	var all []time.Duration
	for _, one := range t {
		if one.up == up {
			all = append(all, figure(one))
		}
	}
	return all
}

func takeoverRows(what string, all map[string]takeovers) []row {
	first := func(t takeover) time.Duration { return t.first }
	last := func(t takeover) time.Duration { return t.last }
	return []row{
		takeoverRow(fmt.Sprintf("%s, up, p50 / p99 of %d", what, len(all[lockstepName].of(true, last))), mostTakeover, all, true, last),
		takeoverRow("the same down, to the first zone", mostTakeover, all, false, first),
		takeoverRow("the same down, to the last one, zone after zone", 0, all, false, last),
	}
}

// takeoverRow is about one figure, beside the floor of the same changes. A goal of
// 0 is none.
func takeoverRow(what string, most time.Duration, all map[string]takeovers, up bool, figure func(takeover) time.Duration) row {
	floors := all[floorName].of(up, figure)
	r := row{what: what, cells: map[string]string{}}
	for name, t := range all {
		took := t.of(up, figure)
		r.cells[name] = milliseconds(median(took), quantile(took, 0.99))
		if name != floorName {
			r.cells[name] += " " + spread(ratios(took, floors))
		}
	}
	if most > 0 {
		own := all[lockstepName].of(up, figure)
		r.goal, r.met = fmt.Sprintf("p99 ≤ %d s", most/time.Second), verdictOf(quantile(own, 0.99) <= most)
	}
	return r
}
