package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// The goals for groups that are shown while they all roll.
const (
	mostTimesUnshown   = 1.10
	mostShownPerSecond = 1
)

var (
	rolloutGroups = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "rolloutgroups"}
	definitions   = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// statuses measures many groups of lockstep that roll at the same time, with
// RolloutGroups that show them and without, in turn.
func (b *bench) statuses(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "status", func(ctx context.Context, a *arena) ([]row, error) {
		client, err := dynamic.NewForConfig(a.cluster.AdminConfig())
		if err != nil {
			return nil, fmt.Errorf("make client: %w", err)
		}
		r := a.racers[1]
		namespaces, err := a.makeNamespaces(ctx, r, min(a.settings.status.namespaces, a.settings.status.groups))
		if err != nil {
			return nil, err
		}
		groups := newGroups(namespaces, r.name, "store-", a.settings.status.groups, a.settings.status.pods)
		if err := a.makeGroups(ctx, groups); err != nil {
			return nil, err
		}
		if err := a.start(ctx, r, namespaces...); err != nil {
			return nil, err
		}
		g := gallery{a, client, groups}
		shown, unshown, err := g.inTurn(ctx, r)
		if err != nil {
			return nil, err
		}
		return statusRows(len(groups), 3*a.settings.status.pods, shown, unshown), nil
	})
}

// gallery is groups that are shown, or not.
type gallery struct {
	*arena
	client dynamic.Interface
	groups []*group
}

// inTurn rolls all groups, with what shows them and without, each first every other
// time.
func (g gallery) inTurn(ctx context.Context, r *racer) (shown, unshown series, err error) {
	for run := range g.settings.status.runs + 1 {
		for i := range 2 {
			show := (run+i)%2 == 0
			if err := g.show(ctx, show); err != nil {
				return nil, nil, err
			}
			result, err := g.roll(ctx, r, g.groups, nil)
			if err != nil {
				return nil, nil, fmt.Errorf("roll, shown %t: %w", show, err)
			}
			g.say("%d groups at once, run %d of %d, shown %-5t %s, CPU %s", len(g.groups), run, g.settings.status.runs, show, seconds(result.total), seconds(result.cpu))
			switch {
			case run == 0:
			case show:
				shown = append(shown, result)
			default:
				unshown = append(unshown, result)
			}
		}
	}
	return shown, unshown, nil
}

// show installs the kind and waits until every group is shown as settled, or takes
// the kind away.
func (g gallery) show(ctx context.Context, show bool) error {
	if !show {
		err := g.client.Resource(definitions).Delete(ctx, rolloutGroups.GroupResource().String(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the kind: %w", err)
		}
		return g.await(ctx, "RolloutGroups left", 0, func() (int, error) { return g.count(ctx, func(string) bool { return true }) })
	}
	if err := g.cluster.Apply(ctx, manifests+"/crds/lockstep.dev_rolloutgroups.yaml"); err != nil {
		return err
	}
	return g.await(ctx, "groups shown", len(g.groups), func() (int, error) {
		return g.count(ctx, func(activity string) bool { return activity == "Settled" })
	})
}

// count returns how many RolloutGroups have such an activity.
func (g gallery) count(ctx context.Context, such func(activity string) bool) (int, error) {
	list, err := g.client.Resource(rolloutGroups).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list RolloutGroups: %w", err)
	}
	n := 0
	for _, o := range list.Items {
		if activity, _, _ := unstructured.NestedString(o.Object, "status", "activity"); such(activity) {
			n++
		}
	}
	return n, nil
}

func statusRows(groups, pods int, shown, unshown series) []row {
	slower := ratios(shown.totals(), unshown.totals())
	mean, most := shown.perGroup(groups)
	cell := func(text string) map[string]string { return map[string]string{lockstepName: text} }
	return []row{
		{what: fmt.Sprintf("%d groups of %d pods at once, not shown", groups, pods), cells: cell(seconds(median(unshown.totals())))},
		{
			what: "the same, shown in RolloutGroups (times not shown)", goal: "< 1.10", met: verdictOf(median(slower) < mostTimesUnshown),
			cells: cell(fmt.Sprintf("%s (%.2f)", seconds(median(shown.totals())), median(slower))),
		},
		{
			what: "statuses written for a group in a second, mean / most", goal: "≤ 1", met: verdictOf(most <= mostShownPerSecond),
			cells: cell(fmt.Sprintf("%.2f / %d", mean, most)),
		},
		{
			what: "CPU of the operator for all of them, shown / not", cells: cell(seconds(shown.cpu()) + " / " + seconds(unshown.cpu())),
		},
	}
}

// perGroup returns how many statuses were written for a group in a second: on average
// while they rolled, and at most in any second.
func (s series) perGroup(groups int) (mean float64, most int) {
	for _, r := range s {
		writes := 0
		for _, times := range r.shown {
			writes += len(times)
			most = max(most, mostWithin(time.Second, times))
		}
		mean += float64(writes) / float64(groups) / r.total.Seconds() / float64(len(s))
	}
	return mean, most
}

// mostWithin returns how many of some times lie within a window, wherever that is.
func mostWithin(window time.Duration, times []time.Time) int {
	slices.SortFunc(times, time.Time.Compare)
	most, first := 0, 0
	for i, t := range times {
		for t.Sub(times[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
